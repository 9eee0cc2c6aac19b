"""One file a game. No game imports another."""
