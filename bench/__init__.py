"""Measurements that anybody can repeat: ``python -m bench.<what>``. Each states where it ran, and runs its baselines itself."""
