"""Starting, stopping and finding processes.

On Linux every child carries a parent-death signal: when this process is killed outright, the kernel stops its
children. That signal is bound to the *thread* that started the child, so children are started from the main
thread. Elsewhere the next start finds what was left by its mark on the command line, and stops it.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

import psutil
from psutil import Process

from services.cli.embedded.account import Account

PR_SET_PDEATHSIG: Final = 1
KILL_SECONDS_MAX: Final = 10.0
POLL_SECONDS: Final = 0.01


def spawn(
    command: Sequence[str],
    *,
    output: IO[bytes],
    environment: Mapping[str, str],
    parting_signal: signal.Signals,
    account: Account | None = None,
    standard_input: bytes | None = None,
    keep_descriptors: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start a program as a child in a session of its own, so that a Ctrl-C in the terminal reaches only us.

    Args:
        command: the program's path and its arguments.
        output: a file for its standard output and error.
        environment: its whole environment.
        parting_signal: what it receives when this process dies (Linux).
        account: who it runs as; None for the present user.
        standard_input: what it reads on standard input, at most a few kilobytes; None for nothing.
        keep_descriptors: open descriptors that it inherits.
    """
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL if standard_input is None else subprocess.PIPE,
        stdout=output,
        stderr=subprocess.STDOUT,
        cwd="/",
        env=dict(environment),
        start_new_session=True,
        pass_fds=tuple(keep_descriptors),
        preexec_fn=_die_with_parent(parting_signal),  # noqa: PLW1509 - it calls two C functions, and no lock
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
    )
    if standard_input is not None and child.stdin is not None:
        with suppress(BrokenPipeError):  # a child that is already gone shows by its exit code
            child.stdin.write(standard_input)
            child.stdin.close()
    return child


def _die_with_parent(parting_signal: signal.Signals) -> Callable[[], None] | None:
    """Return what the new child does before it becomes the program. It runs after the change of user, as it must."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def ask_for_parting_signal() -> None:
        prctl(PR_SET_PDEATHSIG, int(parting_signal), 0, 0, 0)
        if os.getppid() != parent:  # it died in between, and no signal will come any more
            os._exit(1)

    return ask_for_parting_signal


def stop(child: subprocess.Popen[bytes], steps: Sequence[tuple[signal.Signals, float]]) -> None:
    """Send one signal after another, each with its seconds to take effect, and reap the child."""
    for signal_number, patience_seconds in steps:
        if child.poll() is not None:
            return
        child.send_signal(signal_number)
        try:
            child.wait(patience_seconds)
        except subprocess.TimeoutExpired:
            continue
        return
    child.kill()
    child.wait()


def find_marked(mark: str, *program_names: str) -> list[Process]:
    """Return the living processes that carry ``mark`` on their command line or title.

    Args:
        mark: a word that nothing else on the machine has.
        program_names: which programs are meant; none for any.
    """
    return [
        found
        for found in psutil.process_iter()
        if mark in command_of(found)
        and (not program_names or _program_of(found) in program_names)
        and lives(found)
    ]


def command_of(process: Process) -> str:
    """Return a process's command line, or the title that took its place; empty when it cannot be read."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _program_of(process: Process) -> str:
    """Name the program. A title may stand for the arguments: ``postgres: mark: checkpointer``."""
    return Path(command_of(process).partition(" ")[0].rstrip(":")).name


def lives(process: Process) -> bool:
    """Say whether the process still runs; one that has ended and was not reaped yet does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def stop_leftovers(leftovers: Sequence[Process], steps: Sequence[tuple[signal.Signals, float]]) -> None:
    """Stop processes that are not our children, as ``stop`` does with one that is."""
    remaining = list(leftovers)
    for signal_number, patience_seconds in (*steps, (signal.SIGKILL, KILL_SECONDS_MAX)):
        for process in remaining:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal_number)
        deadline = time.monotonic() + patience_seconds
        # A zombie counts as gone: it may lie there until its parent, which we are not, looks after it.
        while (remaining := list(filter(lives, remaining))) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
