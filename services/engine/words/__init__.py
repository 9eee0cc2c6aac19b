"""Facts and moves in plain words: what happened at the table, one sentence each.

Every fact has a sentence; the type check fails for one that has none.
"""

from services.engine.words.facts import sentence
from services.engine.words.moves import move_in_words
from services.engine.words.naming import Namer, cards_in_words, places_in_words, seat_name

__all__ = ["Namer", "cards_in_words", "move_in_words", "places_in_words", "seat_name", "sentence"]
