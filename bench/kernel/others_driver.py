"""Plays random matches of one contender, as fast as its own interface lets one; prints one line of JSON.

A contender imports what it needs by itself, so that one that is missing does not stop the others.

Run by the benchmark, with a Python that has the packages and nothing of ours:
``python others_driver.py CONTENDER SEATS SECONDS SEED``.
"""

import json
import sys
from collections.abc import Callable
from random import Random
from time import process_time
from typing import Any

Play = Callable[[Random], int]


def uno_raw(seats: int) -> Play:
    """RLCard's UNO by its game object: the step's own answer holds the legal moves of who comes next."""
    from rlcard.games.uno import Game  # type: ignore[import-not-found]  # noqa: PLC0415

    def play(random: Random) -> int:
        moves = 0
        game = Game(num_players=seats)
        state, _ = game.init_game()
        while not game.is_over():
            state, _ = game.step(random.choice(state["legal_actions"]))
            moves += 1
        return moves

    return play


def uno_encoded(seats: int) -> Play:
    """RLCard's UNO by its environment, which encodes what each player sees for a learner."""
    import rlcard  # type: ignore[import-not-found]  # noqa: PLC0415

    environment = rlcard.make("uno", config={"game_num_players": seats, "seed": 1})

    def play(random: Random) -> int:
        moves = 0
        state, _ = environment.reset()
        while not environment.is_over():
            state, _ = environment.step(random.choice(list(state["legal_actions"])))
            moves += 1
        return moves

    return play


def crazy_eights(seats: int) -> Play:
    """OpenSpiel's crazy eights, written in C++. Chance deals and draws as a player; its steps do not count."""
    import pyspiel  # type: ignore[import-not-found]  # noqa: PLC0415

    game: Any = pyspiel.load_game(f"crazy_eights(players={seats})")

    def play(random: Random) -> int:
        moves = 0
        state = game.new_initial_state()
        while not state.is_terminal():
            if not state.is_chance_node():
                moves += 1
            state.apply_action(random.choice(state.legal_actions()))
        return moves

    return play


def crazy_eights_replayed(seats: int) -> Play:
    """OpenSpiel's crazy eights, games that were played before: their actions applied again, chance among them."""
    import pyspiel  # noqa: PLC0415

    game: Any = pyspiel.load_game(f"crazy_eights(players={seats})")
    chance = Random(1)
    histories = []
    for _ in range(RECORDS):
        state = game.new_initial_state()
        while not state.is_terminal():
            state.apply_action(chance.choice(state.legal_actions()))
        histories.append(state.history())

    def play(random: Random) -> int:
        history = random.choice(histories)
        state = game.new_initial_state()
        for action in history:
            state.apply_action(action)
        return len(history)

    return play


RECORDS = 200
CONTENDERS = {
    "uno-raw": uno_raw,
    "uno-encoded": uno_encoded,
    "crazy-eights": crazy_eights,
    "crazy-eights-replayed": crazy_eights_replayed,
}


def main() -> None:
    """Play for so many seconds, and print how far that went."""
    name, seats, seconds, seed = sys.argv[1:]
    play, random = CONTENDERS[name](int(seats)), Random(int(seed))
    play(random)
    played = moves = 0
    begun = process_time()
    while process_time() - begun < float(seconds):
        moves += play(random)
        played += 1
    print(json.dumps({"moves": moves, "matches": played, "seconds": process_time() - begun}))


if __name__ == "__main__":
    main()
