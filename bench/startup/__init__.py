"""How long a process takes to start."""
