"""A match at the keyboard: no server, no database, the rules and a terminal."""
