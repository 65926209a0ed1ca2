"""What people look at. Views read the state and steer nothing."""
