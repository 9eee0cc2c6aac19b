"""The pages a person opens: static files without a build step."""
