"""What a child changes: applied, checked, compared, and written down as a patch."""
