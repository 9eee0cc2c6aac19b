"""Appends a second: through the coalescer, through ``append_many`` one by one, and plain INSERTs, side by side."""
