"""One leaderboard per game: ratings, and every application of a match to them."""
