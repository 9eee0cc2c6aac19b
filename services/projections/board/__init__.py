"""The lobby board: which public tables are open, which are playing, and who sits there."""
