"""The tests. A package, so that what they share is imported by one name from everywhere."""
