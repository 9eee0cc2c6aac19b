"""Matches as streams of server-sent events."""
