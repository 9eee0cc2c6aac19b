"""``macao play``: a game in the terminal, against bots, random movers or people at the same keyboard."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from msgspec import Struct
    from rich.console import Console

    from services.engine.rules.kernel import AnyRules

NAME: Final = "play"
HELP: Final = "play a game in the terminal, without a server"
PASSES_ON: Final = False

SEED_BYTES: Final = 5
STOPPED: Final = "the people at the keyboard stopped"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = f"{HELP}. Without a game, the games and their options are listed."
    parser.add_argument("game", nargs="?", metavar="GAME", help="which game, for instance dice-race")
    parser.add_argument(
        "--seats", type=int, metavar="N", help="how many players (3, or what the game allows)"
    )
    parser.add_argument(
        "--against", choices=("random", "people"),
        help="who else plays: movers that do anything legal (the default; you have seat 0), or people at this keyboard",
    )  # fmt: skip
    parser.add_argument(
        "--bots",
        metavar="LEVELS",
        help="bots to play against, as in casual,sharp: one a seat, you have seat 0",
    )
    parser.add_argument(
        "--people", metavar="SEATS", help="the seats of people, as in 0,2; movers in the others"
    )
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the game; may be repeated",
    )
    parser.add_argument("--seed", metavar="TEXT", help="the same text, dice and cards again")
    parser.add_argument(
        "--save", metavar="FILE", type=Path, help="write the record, for `macao verify` and `macao replay`"
    )


def run(args: argparse.Namespace) -> int:
    """Play the match to its end, or until somebody has had enough.

    Raises:
        Advice: there is no such game, or it is not played like this.
    """
    from rich.console import Console

    from services.cli.playing.listing import print_games
    from services.engine.rules.catalogue import CATALOGUE

    console = Console(highlight=False)
    if args.game is None:
        print_games(CATALOGUE, console)
        return 0
    rules = _rules(args.game)
    if args.save is not None:
        from services.cli.playing.saving import check_free

        check_free(args.save)
    _play(rules, args, console)
    return 0


def _play(rules: "AnyRules", args: argparse.Namespace, console: "Console") -> None:
    from services.cli.playing.chance import entropy_of, whims_of
    from services.cli.playing.ending import print_end
    from services.cli.playing.movers import Movers
    from services.cli.playing.saving import save
    from services.cli.playing.screen import Quit, screen_on
    from services.cli.playing.seating import levels_of, movers_of, people_of, seats_of
    from services.cli.playing.session import Session
    from services.cli.playing.table import sit_down
    from services.runtime.clock import SystemClock, system_entropy

    levels = levels_of(args.bots) if args.bots else []
    named = args.people.count(",") + 1 if args.people else 1
    seats = seats_of(rules, len(levels) + named if levels and args.seats is None else args.seats)
    options = _options(rules, args.option, seats)
    people = people_of(seats, args.against, args.people)
    seed = args.seed or system_entropy(SEED_BYTES).hex()
    movers = movers_of(seats, people, levels)
    bots = [movers.get(seat) for seat in range(seats)]
    table = sit_down(rules, options, bots, SystemClock(), entropy_of(seed))
    with screen_on(console) as screen:
        try:
            Session(table, people, Movers(movers, whims_of(seed)), screen).play()
        except Quit:
            table.stop(STOPPED)
    print_end(table, people, seed, console)
    if args.save is not None:
        save(table, args.save)
        console.print(
            f"{args.save}: {len(table.events)} events. Is it true? macao verify {args.save}", soft_wrap=True
        )


def _rules(game: str) -> "AnyRules":
    from services.cli.advice import Advice
    from services.engine.rules.catalogue import CATALOGUE

    rules = CATALOGUE.game(game)
    if rules is None:
        names = ", ".join(each.name for each in CATALOGUE.newest())
        raise Advice(f"There is no game {game}; there are {names}.")
    return rules


def _options(rules: "AnyRules", given: list[str], seats: int) -> "Struct":
    from services.cli.advice import Advice
    from services.cli.playing.options import read_given
    from services.cli.playing.refused import refused_in_words
    from services.engine.rules.catalogue import read_options
    from services.engine.rules.kernel import Refusal

    options = read_options(rules, read_given(given), seats)
    if isinstance(options, Refusal):
        raise Advice(f"{refused_in_words(options)} `macao play` lists the options of {rules.name}.")
    return options
