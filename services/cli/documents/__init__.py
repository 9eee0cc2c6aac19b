"""The documents in ``openapi/``: what the services say of themselves, for generators and for readers."""

from services.cli.documents.gathering import documents

__all__ = ["documents"]
