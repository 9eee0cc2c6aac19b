"""Moves while the log grows."""
