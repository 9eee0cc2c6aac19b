"""``macao projections``: how far the projections are, and what is in their way."""

import argparse
import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from services.projections.health import ProjectionHealth

NAME: Final = "projections"
HELP: Final = "show the projections: version, lag, state, parked streams, last error"
PASSES_ON: Final = False


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--json", action="store_true", help="as JSON, one line a projection")
    parser.add_argument(
        "--database", metavar="URL", help="the database (MACAO_DATABASE_URL, or that of the running macao up)"
    )


def run(args: argparse.Namespace) -> int:
    """Show them; 1 if one of them is not healthy.

    Raises:
        Advice: the database cannot be read.
    """
    import msgspec

    from services.cli.database import database_of

    found = asyncio.run(_found(database_of(args.database)))
    if args.json:
        for health in found:
            print(msgspec.json.encode(health).decode())
    else:
        _show(found)
    return 0 if all(health.healthy for health in found) else 1


async def _found(url: str) -> "list[ProjectionHealth]":
    from services.cli.operating import all_projections, desk
    from services.projections.health import health_of

    async with desk(url) as at:
        return [await health_of(at.connection, at.log, one) for one in all_projections()]


def _show(found: "list[ProjectionHealth]") -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table("projection", "version", "state", "position", "lag", "parked", "led by", box=None)
    for health in found:
        silent = "" if health.silent_seconds is None else f", {health.silent_seconds:.0f} s ago"
        table.add_row(
            health.name, str(health.version), health.state, f"{health.position:,}",
            f"{health.lag_positions:,} events, {health.lag_seconds:.1f} s", str(health.parked),
            f"{health.leader or '-'}{silent}",
        )  # fmt: skip
    console.print(table)
    for health in found:
        for line in _more(health):
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def _more(health: "ProjectionHealth") -> list[str]:
    lines: list[str] = []
    if health.last_error:
        lines.append(f"{health.name}: {health.last_error}")
    rebuild = health.rebuild
    if rebuild is not None and rebuild.state != "done":
        told = f"{health.name}: rebuild ({rebuild.reason}) {rebuild.state}, {rebuild.position:,} of {rebuild.head:,}"
        lines.append(f"{told}: {rebuild.last_error}" if rebuild.last_error else told)
    lines += [
        f"{health.name}: {letter.stream} is parked from position {letter.position} ({letter.type}), "
        f"tried {letter.attempts} times: {letter.error}"
        for letter in health.dead_letters or ()
    ]
    if health.dead_letters:
        lines.append(f"    when it is mended: macao release {health.name}")
    return lines
