"""Tokens: who a caller is, proven by a signature that every service checks on its own.

``caller.py`` what a token says; ``keyring.py`` the signing keys; ``verifying.py`` from token to caller;
``refreshing.py`` sessions and their refresh tokens; ``named.py`` long-lived tokens; ``revocations.py`` what must not be
honoured any more; ``scopes.py`` what a player may do, ``grants.py`` who says so; ``tokens.py`` all of it behind one
face; ``jwks.py`` the published form of the keys. Tokens of an external issuer: ``services.runtime.issuer``.
"""
