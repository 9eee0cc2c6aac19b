"""One module a command. What such a module has is told by ``services.cli.main.Command``."""
