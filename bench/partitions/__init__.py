"""What partitions of the events cost, and what each kind of them keeps (docs/adr/0016, 0017)."""
