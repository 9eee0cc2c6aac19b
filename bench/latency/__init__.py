"""From an acknowledged move to whoever watches."""
