"""What a training run printed or wrote, read: metric, parameters, curve, class scores."""
