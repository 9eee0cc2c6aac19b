"""Measurements that anybody can repeat: ``python -m bench.<what>``. Each says where it ran, and runs its baselines."""
