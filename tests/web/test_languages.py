"""Every language has every text, with the same places to fill in, and every text that the pages ask for is there."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.support.up import ROOT

SCRIPTS: Final = ROOT / "services/web/static/js"
LANGUAGES: Final = sorted(path.stem for path in (SCRIPTS / "texts").glob("*.js"))
PLURALS: Final = {
    "en": {"one", "other"},
    "it": {"one", "other"},
    "nb": {"one", "other"},
    "ro": {"one", "few", "other"},
    "ru": {"one", "few", "many", "other"},
}
ENTRY: Final = re.compile(r"^  '([^']+)': (.+),$", re.MULTILINE)
FORM: Final = re.compile(r"(\w+): '((?:[^'\\]|\\.)*)'")
PLACE: Final = re.compile(r"\{(\w+)\}")
ASKED_FOR: Final = re.compile(r"\bt\(\s*(?:[^()'`]*\? )?'([\w.-]+)'")


@cache
def texts(language: str) -> dict[str, str]:
    """Return what stands behind each key of a language, as it is written there."""
    found = ENTRY.findall((SCRIPTS / "texts" / f"{language}.js").read_text(encoding="utf-8"))
    keys = [key for key, _ in found]
    assert len(keys) == len(set(keys)), f"{language} has a key twice"
    return dict(found)


def test_the_languages_are_those_that_can_be_chosen() -> None:
    source = (SCRIPTS / "i18n.js").read_text(encoding="utf-8")
    listed = re.search(r"LANGUAGES = \{([^}]+)\}", source)
    assert listed
    assert sorted(re.findall(r"(\w+): '", listed[1])) == LANGUAGES == sorted(PLURALS)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_has_the_keys_of_english_in_the_same_order(language: str) -> None:
    assert list(texts(language)) == list(texts("en"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_same_is_filled_in(language: str) -> None:
    for key, text in texts(language).items():
        english = texts("en")[key]
        assert set(PLACE.findall(text)) == set(PLACE.findall(english)), key
        assert text.startswith("{") == english.startswith("{"), key


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_plural_form_of_the_language_is_there(language: str) -> None:
    for key, text in texts(language).items():
        if text.startswith("{"):
            assert {form for form, _ in FORM.findall(text)} == PLURALS[language], key


def test_every_text_that_is_asked_for_is_there() -> None:
    asked = {
        key
        for path in SCRIPTS.rglob("*.js")
        if path.parent.name != "texts"
        for key in ASKED_FOR.findall(path.read_text(encoding="utf-8"))
    }
    assert asked > {"nav.play", "move.call", "audit.sound"}
    assert asked <= set(texts("en"))


@pytest.mark.parametrize("kind", ["event", "game"])
def test_every_event_of_a_match_and_every_game_has_words(kind: str) -> None:
    names = {
        "event": re.findall(r"^### `([a-z-]+)`", _events_of_matches(), re.MULTILINE),
        "game": [path.stem for path in (ROOT / "docs/rules").glob("*-*.md")],
    }[kind]
    known = {key.split(".")[1] for key in texts("en") if key.startswith(f"{kind}.")}
    assert len(names) >= 5
    assert set(names) <= known


def _events_of_matches() -> str:
    text = Path(ROOT / "docs/events.md").read_text(encoding="utf-8")
    return text[: text.index("\n## Tables")]
