"""What readers ask for and no command needs: the lobby board, the leaderboards, who played what.

Everything here is folded from the log and can be thrown away and built again, byte for byte the same. A
projection has a subpackage: ``fold`` is pure, ``tables`` is its SQL and ``http`` (``stream``) what is asked of it.
"""
