"""The games that there are to play, for somebody who has named none."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from services.cli.playing.options import offers
from services.engine.rules.catalogue import Catalogue
from services.engine.rules.kernel import AnyRules


def print_games(catalogue: Catalogue, console: Console) -> None:
    """Print every game with its options."""
    for rules in catalogue.newest():
        console.print(Text.assemble((rules.name, "bold"), f"  {rules.title}, for {_seats(rules)}"))
        width = max(len(f"{offer.name}={offer.default}") for offer in offers(rules))
        for offer in offers(rules):
            console.print(Text(f"    {f'{offer.name}={offer.default}':<{width}}  {offer.values}", "dim"))
    console.print("\nPlay one: macao play dice-race --seats 3 --option target=12")


def _seats(rules: AnyRules) -> str:
    return f"{rules.seats_min} to {rules.seats_max} players"
