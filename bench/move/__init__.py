"""Moves a second, from HTTP to commit, beside the floor that any service of this kind stands on."""
