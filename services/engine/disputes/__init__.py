"""Disputes: the commands log, complaints about events, case files, rulings (docs/disputes.md)."""
