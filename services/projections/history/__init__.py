"""What a player has played: matches, newest first, and figures counted over them."""
