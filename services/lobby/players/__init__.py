"""Players: guests, accounts, their sessions and tokens.

``guests.py`` a player by one call; ``accounts.py`` name and password; ``sessions.py`` refresh and log out, and the
tokens for programs; ``passwords.py`` what a password has to be, and its hash; ``answers.py`` first answers, kept for
retries.
"""
