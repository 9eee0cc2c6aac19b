"""``macao play`` as a person calls it, rightly and wrongly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from services.engine.record import read_record
from services.engine.rules.catalogue import CATALOGUE
from tests.play.keyboard import macao


def test_without_a_game_it_lists_them():
    said = macao("play")
    assert said.returncode == 0
    for rules in CATALOGUE.newest():
        assert (
            f"{rules.name}  {rules.title}, for {rules.seats_min} to {rules.seats_max} players" in said.stdout
        )
    assert "target=9" in said.stdout
    assert "9, 12, 15" in said.stdout


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["chess"], "There is no game chess; there are dice-race, "),
        (["dice-race", "--option", "target=10"], "(DR-1.3)"),
        (["dice-race", "--option", "colour=red"], "unknown field `colour` (DR-1.3)"),
        (["dice-race", "--option", "stake=2"], "stake, only with stakes (DR-1.3)"),
        (["cards-bank", "--option", "decks=0"], "decks, Expected `int` >= 1 (CB-1.3)"),
        (["dice-race", "--option", "target"], "An option is given as name=value, and 'target' is not."),
        (["dice-race", "--seats", "1"], "seats 1, seats min 2, seats max 16 (DR-1.1)"),
        (["dice-race", "--seats", "-3"], "(DR-1.1)"),
        (["dice-race", "--people", "3"], "--people takes seats from 0 to 2"),
        (["dice-race", "--people", "a"], "--people takes seats from 0 to 2"),
        (["dice-race", "--people", ""], "--people takes seats from 0 to 2"),
        (["dice-race", "--against", "people", "--people", "0"], "leave --people out"),
        (["dice-race", "--save", "services"], "services is there already"),
        (["dice-race", "--save", "nowhere/match"], "There is no directory nowhere"),
    ],
)
def test_what_cannot_be_played_is_said_in_one_line(arguments, advice):
    said = macao("play", *arguments)
    assert said.returncode == 1
    assert advice in said.stderr
    assert said.stderr.count("\n") == 1
    assert not said.stdout


def test_wrong_input_says_what_to_do():
    said = macao("play", "dice-race", "--against", "people", typed="foo\n\ns\n").stdout
    assert "'foo' is no move. Type r to roll; leave to give the seat up; q to end." in said.replace("\n", " ")
    assert "Nothing was typed. Type r to roll" in said
    assert "The first roll is compulsory (DR-2.2)." in said


@pytest.mark.parametrize("typed", ["q\n", "r\nquit\n", "", "r\n"])
def test_leaving_before_the_end(typed, tmp_path):
    file = tmp_path / "match.ndjson"
    said = macao("play", "dice-race", "--against", "people", "--save", file, typed=typed)
    assert said.returncode == 0
    assert "Ended before the match was over; it does not count." in said.stdout
    assert macao("verify", file).returncode == 0
    assert "This match does not count" in macao("replay", file).stdout


def test_giving_the_seat_up_lets_the_others_play_on():
    said = macao("play", "dice-race", "--seed", "a", typed="leave\n").stdout
    assert "You have place 3 of 3." in said


def test_the_same_seed_is_the_same_match(tmp_path):
    def facts(name: str, seed: str) -> list[bytes]:
        file: Path = tmp_path / name
        macao(
            "play",
            "cards-places",
            "--against",
            "people",
            "--seed",
            seed,
            "--save",
            file,
            typed="\nd\n\n\nd\n",
        )
        with file.open("rb") as lines:
            return [event.whole for event in read_record(lines).events]

    first = facts("first", "luck")
    assert facts("again", "luck") == first
    assert facts("other", "other")[2:] != first[2:]


def test_options_reach_the_match(tmp_path):
    file = tmp_path / "match.ndjson"
    options = ["--option", "pontoon=true", "--option", "chips-to-win=2", "--option", "first=1"]
    macao("play", "dice-race", *options, "--people", "0,2", "--save", file, typed="q\n")
    started = json.loads(json.loads(file.read_text().splitlines()[1])["body"])
    assert started["options"]["pontoon"] is True
    assert started["options"]["chips_to_win"] == 2
    assert started["options"]["first"] == 1
    assert [seat["bot"] for seat in started["seats"]] == [None, "random", None]


def test_an_ace_asks_for_its_suit():
    """Under this seed Seat 2 begins, and its second card is an ace."""
    said = macao(
        "play", "cards-places", "--against", "people", "--seed", "0", typed="\n2\nx\nhearts\n\n"
    ).stdout
    assert said.count("Which suit? Type c for ♣ clubs") == 2
    assert "Seat 2 calls hearts" in said
