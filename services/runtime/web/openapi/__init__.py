"""The OpenAPI document: what the handlers say of themselves, completed and made fit for generators.

``documentation.py`` what a service adds in words, unions and examples; ``schemas.py`` types as schemas; ``answers.py``
headers and problems of answers; ``document.py`` puts it together. Nothing here runs before the document is asked for.
"""

from services.runtime.web.openapi.document import document_of
from services.runtime.web.openapi.documentation import Documentation, Example, Media

__all__ = ["Documentation", "Example", "Media", "document_of"]
