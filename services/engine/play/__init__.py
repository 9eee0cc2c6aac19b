"""Matches as they are played: commitments, live matches over the event log, and what each viewer sees."""
