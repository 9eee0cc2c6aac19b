"""What partitions of the events by position would cost, and what they would not keep (docs/adr/0016)."""
