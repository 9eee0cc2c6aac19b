"""Hours of mixed load, with memory, connections and descriptors."""
