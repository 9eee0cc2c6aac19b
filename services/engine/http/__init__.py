"""The engine on the wire: one module per group of endpoints, each with its handlers and nothing else."""
