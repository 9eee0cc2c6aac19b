"""Tokens: who a caller is, proven by a signature that every service checks on its own.

``caller.py`` what a token says; ``keyring.py`` the signing keys; ``verifying.py`` from token to caller;
``refreshing.py`` the refresh tokens; ``tokens.py`` all of it behind one face; ``jwks.py`` the published form.
"""
