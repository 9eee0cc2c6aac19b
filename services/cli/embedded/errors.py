"""What goes wrong with an embedded server."""

from services.cli.advice import Advice


class EmbeddedError(Advice):
    """An embedded server, or the home that keeps its data, cannot be had."""
