"""Cheap polling of projections; the runtime has it for every service."""

from services.runtime.web.reading import PRIVATE, PUBLIC, answer

__all__ = ["PRIVATE", "PUBLIC", "answer"]
