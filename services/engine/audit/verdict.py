"""What an audit finds, and how it is told to people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from msgspec import Struct

Check = Literal["form", "order", "chain", "seal", "signature", "chance", "rules", "actor", "time", "receipt"]
"""What was looked at.

``form``: the bytes of a line, header or body; ``order``: versions and commands, whole and in their places;
``chain``: the hashes; ``seal``: what was hidden while the match ran; ``signature``: who vouches for the record;
``chance``: commitments, reveals and every draw; ``rules``: every move decided again; ``actor``: who moved;
``time``: times do not go backwards, and the clock was kept; ``receipt``: the place in the log of the whole service.
"""

FINDINGS_MAX: Final = 20
"""How many findings each check keeps. The first ones tell what happened; what follows is mostly their echo."""

QUOTE_MAX: Final = 300


class Finding(Struct, frozen=True):
    """One thing that is wrong.

    Attributes:
        version: the event that is bad or missing; None where it concerns the header, the closing line or all of it.
        line: the line of the record, from 1.
        clause: the clause of the rules that speaks of it, if one does.
        text: what is wrong, in words.
    """

    check: Check
    version: int | None
    line: int
    clause: str | None
    text: str


class Verdict(Struct, frozen=True):
    """What an audit says.

    Attributes:
        sound: nothing is wrong.
        first_bad_version: the first event that is wrong or missing; None when nothing is wrong, or no single event.
        stream: the match, as far as the record says.
        rules: the game at the version of its rules.
        events: how many events could be read.
        commands: how many commands were decided again, the start of the match included.
        draws: how many dice throws, lots and shuffles were recomputed.
        seals: how many sealed bodies were opened and compared.
        key_id: the key that signed.
        key_known: whether that key was known from elsewhere; otherwise the record only vouches for itself.
        receipt_size: how many events the log had whose checkpoint the receipt proves the match to be in; None without
            a receipt, or with a wrong one.
        findings: everything that is wrong, in the order of the record.
        more: how many findings were left out.
        notes: what is worth a look and proves nothing: moves that came late, where outages are not known.
    """

    sound: bool
    first_bad_version: int | None
    stream: str | None
    rules: str | None
    events: int
    commands: int
    draws: int
    seals: int
    key_id: str | None
    key_known: bool
    receipt_size: int | None
    findings: tuple[Finding, ...]
    more: int
    notes: tuple[Finding, ...] = ()


class Ledger:
    """Takes findings down while an audit goes on."""

    def __init__(self) -> None:
        """Begin with an empty page."""
        self._findings: list[Finding] = []
        self._notes: list[Finding] = []
        self._by_check: dict[Check, int] = {}
        self._bad_lines: set[tuple[Check, int]] = set()
        self.commands = 0
        self.draws = 0
        self.seals = 0
        self.key_known = False
        self.receipt_size: int | None = None

    def add(self, check: Check, line: int, version: int | None, text: str, clause: str | None = None) -> None:
        """Take a finding down; one a line and check is enough."""
        if (check, line) in self._bad_lines:
            return
        self._bad_lines.add((check, line))
        self._by_check[check] = self._by_check.get(check, 0) + 1
        if self._by_check[check] <= FINDINGS_MAX:
            self._findings.append(Finding(check, version, line, clause, text))

    def note(
        self, check: Check, line: int, version: int | None, text: str, clause: str | None = None
    ) -> None:
        """Take down what is worth a look and proves nothing; so many as findings of one check are kept."""
        if len(self._notes) < FINDINGS_MAX:
            self._notes.append(Finding(check, version, line, clause, text))

    def has(self, line: int, *checks: Check) -> bool:
        """Say whether one of these checks, or any when none is named, found something wrong with a line."""
        return any(at == line and (not checks or check in checks) for check, at in self._bad_lines)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings that were kept, in the order of the record."""
        return tuple(sorted(self._findings, key=lambda finding: finding.line))

    @property
    def notes(self) -> tuple[Finding, ...]:
        """All notes, in the order of the record."""
        return tuple(self._notes)

    @property
    def more(self) -> int:
        """How many were left out."""
        return sum(self._by_check.values()) - len(self._findings)


def first_bad_version(findings: Iterable[Finding]) -> int | None:
    """Return the first version that a finding names."""
    return next((finding.version for finding in findings if finding.version is not None), None)


def quote(data: bytes) -> str:
    """Return JSON for a sentence, shortened when it is long."""
    text = data.decode(errors="replace")
    return text if len(text) <= QUOTE_MAX else f"{text[:QUOTE_MAX]}…"


def describe(verdict: Verdict) -> str:
    """Return the verdict in plain words: one sentence that says it all, then what was checked or what is wrong."""
    return _praise(verdict) if verdict.sound else _complaint(verdict)


def _praise(verdict: Verdict) -> str:
    lines = [
        f"Sound: the record of {verdict.stream} ({verdict.rules}) is whole and true, all {verdict.events} events.",
        f"- Chain and signature: every event is the one that was written, signed with the key {verdict.key_id}.",
        f"- Chance: commitments and reveals fit; {_count(verdict.draws, 'draw')} recomputed, with the same outcome.",
        f"- Rules: {_count(verdict.commands, 'command')} decided again under {verdict.rules}, with the same outcome.",
    ]
    if verdict.seals:
        lines.append(f"- Secrets: {_count(verdict.seals, 'sealed event')} opened, each as it was sealed.")
    if verdict.receipt_size is None:
        lines.append(
            "- Log: without a receipt the record does not say where it stands in the log of the service."
        )
    else:
        lines.append(
            f"- Log: the receipt puts the match among the first {verdict.receipt_size} events of the service."
        )
    if not verdict.key_known:
        lines.append(
            f"- The key {verdict.key_id} is known from the record alone. Compare it with the keys that the service"
            " publishes (/.well-known/jwks.json) to know who signed."
        )
    lines += [f"- Note on version {note.version}: {note.text} ({note.clause})." for note in verdict.notes]
    return "\n".join(lines)


def _complaint(verdict: Verdict) -> str:
    name = f"the record of {verdict.stream}" if verdict.stream else "this record"
    if verdict.first_bad_version is not None:
        first = f"Not sound: {name} goes wrong at version {verdict.first_bad_version}."
    elif not verdict.events:
        first = f"Not sound: {name} holds no event."
    else:
        first = (
            f"Not sound: the events of {name} fit together, and header, closing line or a signature does not."
        )
    lines = [first]
    for finding in verdict.findings:
        place = f"line {finding.line}" if finding.version is None else f"version {finding.version}"
        clause = f" ({finding.clause})" if finding.clause else ""
        lines.append(f"- {place}, {finding.check}: {finding.text}{clause}")
    if verdict.more:
        lines.append(f"- and {_count(verdict.more, 'more finding')}, most of them echoes of the first.")
    return "\n".join(lines)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
