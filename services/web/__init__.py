"""The pages that a person opens: static files without a build step, and nothing but a client of the public API."""
