"""What the benches of the service share: servers, processes, matches worked out beforehand, and a cheap HTTP client."""
