"""The lobby's endpoints."""
