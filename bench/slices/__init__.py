"""What it costs to read one ordered log in several slices."""
