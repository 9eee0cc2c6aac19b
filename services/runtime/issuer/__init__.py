"""An external OpenID Connect issuer, whose bearer tokens are taken beside our own when the settings name one.

``config.py`` the settings; ``keys.py`` the issuer's published keys; ``claims.py`` what a token has to say, pure;
``identities.py`` which player a subject is; ``issuer.py`` all of it behind one face.
"""

from services.runtime.issuer.issuer import Issuer

__all__ = ["Issuer"]
