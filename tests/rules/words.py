"""Facts in the words of the scenario files. A new fact gets its phrase here, and in the head of every file using it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from services.contracts.events.base import Fact
from services.contracts.events.chips import Paid, Staked
from services.contracts.events.dice import Busted, PlayoffStarted, Rolled, Stood
from services.contracts.events.match import LotDrawn, PlayerEliminated, RoundEnded, RoundStarted, WentOut
from services.engine.rules.kernel import Refusal


def in_words(facts: Iterable[Fact]) -> list[str]:
    """Tell facts as a scenario file does; what several seats do alike, one after the other, is told once."""
    told: list[str] = []
    for (kind, rest), group in groupby(map(_phrase, facts), key=lambda phrase: (phrase[0], phrase[2])):
        subjects = [subject for _, subject, _ in group]
        if kind == "total":
            told.append(f"total {' '.join(subjects)}")
        elif kind in {"pay", "get"}:
            told.append(f"{' '.join(subjects)} {kind}{'s' if len(subjects) == 1 else ''} {rest}")
        else:
            told += [f"{subject} {kind} {rest}".strip() for subject in subjects]
    return told


def refused(refusal: Refusal) -> str:
    """Tell a refusal."""
    return f"refused {refusal.code} {refusal.clause}"


def seats(numbers: Iterable[int]) -> str:
    """List seats, or a dash for none."""
    return " ".join(map(str, numbers)) or "-"


def _phrase(fact: Fact) -> tuple[str, str, str]:
    """Return verb, subject and rest."""
    match fact:
        case LotDrawn():
            return "lot", "", str(fact.seat)
        case RoundStarted():
            return fact.kind, "", f"{fact.round}: {seats(fact.order)}"
        case RoundEnded():
            return "round", "", f"{fact.round} to {seats(fact.winners)}"
        case PlayoffStarted():
            return "playoff", "", seats(fact.order)
        case Rolled():
            return "total", str(fact.total), ""
        case Busted():
            return "busts", "", ""
        case Stood():
            return "score", "", f"{fact.score} at once" if fact.instant_win else str(fact.score)
        case Staked():
            return "pay", str(fact.seat), f"{fact.amount}{' danger' if fact.reason == 'danger' else ''}"
        case Paid():
            return "get", str(fact.seat), f"{fact.amount}{'' if fact.source == 'pot' else ' ' + fact.source}"
        case PlayerEliminated():
            return "leaves" if fact.reason == "left" else "expires", str(fact.seat), str(fact.place)
        case WentOut():
            return "goes out", str(fact.seat), str(fact.place)
        case _:
            return str(fact.__struct_config__.tag), "", repr(fact)
