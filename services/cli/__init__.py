"""The command line, and the one-machine runner with its embedded PostgreSQL and Valkey."""
