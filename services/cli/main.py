"""The command line ``macao``: it reads the arguments and hands them to one of the commands.

``macao --help`` runs before anything is installed. So this module, and every command when it is imported, needs
the standard library only; what a command works with is imported when it runs.
"""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from typing import Final, Protocol

from services.cli.advice import Advice
from services.cli.commands import (
    accept_loss,
    archive,
    audit,
    bench,
    case,
    check,
    doctor,
    erase,
    export,
    grant,
    keys,
    load,
    lock,
    logs,
    migrate,
    openapi,
    play,
    projections,
    rebuild,
    release,
    replay,
    serve,
    test,
    up,
    verify,
)


class Command(Protocol):
    """What a module in ``services/cli/commands`` has to have."""

    @property
    def NAME(self) -> str:  # noqa: N802 - a constant of the module
        """The word that calls it."""
        ...

    @property
    def HELP(self) -> str:  # noqa: N802
        """What it does, in one line."""
        ...

    @property
    def PASSES_ON(self) -> bool:  # noqa: N802
        """Whether arguments that it does not know are its business too; they are then in ``args.rest``."""
        ...

    def configure(self, parser: argparse.ArgumentParser, /) -> None:
        """Add the command's arguments."""

    def run(self, args: argparse.Namespace, /) -> int:
        """Do it, and return the exit code.

        Raises:
            Advice: it cannot be done, and why.
        """
        ...


COMMANDS: Final[tuple[Command, ...]] = (
    up,
    serve,
    play,
    replay,
    verify,
    audit,
    export,
    case,
    grant,
    erase,
    keys,
    migrate,
    logs,
    archive,
    accept_loss,
    doctor,
    projections,
    rebuild,
    release,
    openapi,
    test,
    check,
    bench,
    load,
    lock,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, and return its exit code: 0 well, 1 not, 2 wrongly called, 130 interrupted, 141 not read on."""
    parser = _parser()
    args, rest = parser.parse_known_args(arguments)
    command: Command | None = args.command
    if command is None:
        parser.print_help()
        return 0
    if rest and not command.PASSES_ON:
        parser.error(f"{command.NAME} does not know {' '.join(rest)}")
    args.rest = rest
    try:
        code = command.run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read along (`head`, a pager) has seen enough; what is still buffered goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except Advice as advice:
        print(f"macao: {advice}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="macao",
        description="Five games of Macao: play them, replay them, prove what happened.",
        allow_abbrev=False,
    )
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in COMMANDS:
        subparser = commands.add_parser(
            command.NAME,
            help=command.HELP,
            description=command.HELP,
            add_help=not command.PASSES_ON,
            allow_abbrev=False,
        )
        command.configure(subparser)
        subparser.set_defaults(command=command)
    return parser
