"""The table of records: the longest penalty chain, the fastest match, and what else people like to read."""
