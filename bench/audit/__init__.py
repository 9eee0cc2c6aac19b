"""How fast records and logs are audited, and in how much memory."""
