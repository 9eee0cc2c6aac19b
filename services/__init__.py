"""Macao: an event-sourced service for the five games of that name."""
