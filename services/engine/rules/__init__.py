"""The rules: pure functions over immutable values. No clock, no randomness, no I/O, no new ids in here.

``kernel`` is the interface that every game fills in, ``games/`` holds one file a game, ``catalogue`` is the
only list of them, ``match`` is what all matches have in common, ``chance`` is ``macao-fair/1``.
"""
