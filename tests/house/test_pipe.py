"""What is said to somebody who does not read on ends quietly."""

import subprocess
import sys

from tests.support.up import ROOT


def test_a_reader_that_goes_away_is_no_fault() -> None:
    script = "from services.cli import main; main.COMMANDS[0].run = lambda _: print('x' * 1_000_000) or 0; "
    script += "raise SystemExit(main.main([main.COMMANDS[0].NAME]))"
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as talker:
        assert talker.stdout is not None
        assert talker.stderr is not None
        assert talker.stdout.read(1) == b"x"
        talker.stdout.close()
        assert talker.stderr.read() == b""
    assert talker.returncode == 141
