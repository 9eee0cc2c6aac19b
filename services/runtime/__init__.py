"""Plumbing that knows no game: settings, PostgreSQL, the event log, the doorbell, tokens, the web app factory."""
