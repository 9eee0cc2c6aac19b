"""``macao load``: tables of every game against a service that runs."""

import asyncio
import io
import re
from collections.abc import Iterator

import pytest
from rich.console import Console

from services.cli.loading.crowd import Wanted, grid, put_under_load
from services.cli.loading.table import GAMES
from services.cli.loading.tally import SAMPLES_MAX, Tally
from services.cli.main import main
from services.engine.rules.catalogue import CATALOGUE
from tests.support.up import Up, open_directory

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def up() -> Iterator[Up]:
    with open_directory() as home, Up(home) as running:
        yield running.wait_ready()


def test_every_game_is_played_and_watched(up: Up) -> None:
    wanted = Wanted(up.url, tables=len(GAMES), seconds=40.0, moves_max=150)
    tally = asyncio.run(put_under_load(wanted, Console(file=io.StringIO())))
    assert set(tally.games) == set(GAMES) == {rules.name for rules in CATALOGUE.newest()}
    assert 150 <= tally.moves.count < 150 + len(GAMES)
    assert tally.lag.count > 0
    assert not tally.broken
    assert not tally.refusals


def test_the_command_tells_what_came_of_it(up: Up, capsys) -> None:
    code = main(
        ["load", "--server", up.url, "--tables", "2", "--games", "dice-race", "--moves", "20", "--seed", "7"]
    )
    said = capsys.readouterr().out
    assert code == 0, said
    assert re.search(r"moves accepted +2\d", said), said
    assert re.search(r"refusals +none", said), said


def test_nobody_there_is_said(capsys) -> None:
    assert main(["load", "--server", "http://127.0.0.1:9", "--tables", "1", "--seconds", "1"]) == 1
    told = capsys.readouterr()
    assert "has accepted no move" in told.err
    assert "ConnectError" in told.out


@pytest.mark.parametrize(
    "wrong",
    [["--games", "chess"], ["--tables", "0"], ["--seconds", "-1"], ["--think", "-1"], ["--moves", "0"]],
)
def test_what_makes_no_sense_is_refused(wrong: list[str], capsys) -> None:
    assert main(["load", *wrong]) == 1
    assert wrong[0] in capsys.readouterr().err


def test_samples_stay_bounded_and_keep_their_percentiles() -> None:
    tally = Tally(seed=3)
    for number in range(5 * SAMPLES_MAX):
        tally.moves.add(number / (5 * SAMPLES_MAX))
    assert tally.moves.count == 5 * SAMPLES_MAX
    assert tally.moves.percentile(0.5) == pytest.approx(0.5, abs=0.02)
    assert tally.moves.percentile(0.99) == pytest.approx(0.99, abs=0.01)
    assert "100,000" in "".join(str(cell) for column in grid(tally).columns for cell in column.cells)
