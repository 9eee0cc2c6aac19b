"""Thinking time (G10): durable deadlines, and their expiry as an event. Time of day never enters the rules."""
