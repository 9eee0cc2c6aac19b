"""Players: the rules for names, guests, and refreshing tokens."""
