"""docs/tamper-matrix.md, from what the verifiers said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tests.support.tree import ROOT
from tests.verifier.tampering import BY_THE_SERVICE, REWRITTEN, SINGLE, Tampering

FILE: Final = ROOT / "docs/tamper-matrix.md"


NOTHING: Final = "\N{EN DASH}"


@dataclass
class Row:
    """What was said of one tampering: in a file by two, in the database by three, and by a receipt."""

    file_command: str = NOTHING
    file_javascript: str = NOTHING
    api: str = NOTHING
    command: str = NOTHING
    javascript: str = NOTHING
    receipt: str = NOTHING

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells from left to right."""
        return (
            self.file_command, self.file_javascript, self.api, self.command, self.javascript, self.receipt,
        )  # fmt: skip


HEAD: Final = f"""\
# What is found

Every way to tamper with a finished match that we could think of, done to one match, and what each verifier says to it.
A test does all of it and writes this page (`MACAO_WRITE_MATRIX=1 ./macao test tests/verifier/test_tamper_matrix.py`).

The match has 44 events: two coups of `cards-bank` among three. It is tampered with in two places:

- **in the file**, the record as somebody has downloaded it. It is checked with `macao verify FILE --key KEY` and with
  the [JavaScript verifier](record.md#a-verifier-in-javascript), which know the key of the service from before;
- **in the database under the service**, as its superuser, with all triggers off. What is asked is
  `GET /v1/matches/{{id}}/audit`, and both verifiers about the record that the service then gives out. It signs what it
  finds there, so a signature helps no more; but the end of a chain is noted twice, in `events` and in `streams`.

A cell has the version that is named first and the check that names it: `13: chain` says that the hash of event 13 is
not that of its content. `signature` without a version says that none of the events is to blame. `{NOTHING}` is what
cannot be done there. `macao verify` and the audit check everything; the JavaScript verifier leaves out the rules.
[Which event is named](record.md#which-event-is-named) has the rules for it.

The last column is a [receipt](record.md#the-receipt) that somebody has kept from before: whether the end of the chain
is still the one that it was given for. It says nothing where the end was left as it was. A file has none here, whoever
changes it leaves it out. The log was sealed before it was changed, so the record from there has its receipt again, and
the check `receipt` finds that it is for another match; an operator would have to seal the whole log anew, and
contradict every checkpoint that was ever seen outside.
"""

SECTIONS: Final[Sequence[tuple[str, str, Sequence[Tampering]]]] = (
    (
        "One thing changed",
        "What hangs on it is left as it was.",
        SINGLE,
    ),
    (
        "The chain made to fit again",
        """\
By somebody who does not have the key of the service. The payment at version 19 is another; every hash from there on is
right again. In the database, where the service signs, the next table has it with the end moved too.""",
        REWRITTEN,
    ),
    (
        "Everything made to fit again, with the service's own key",
        """\
By an operator, or somebody who has taken over the service. Chain, seals and signature are right. What bends chance is
found by every verifier, and what breaks the rules by those that have them. What does neither (other times, other names,
a whole other match) no verifier can find in the record alone: that takes a receipt.""",
        BY_THE_SERVICE,
    ),
)

COLUMNS: Final = """\
| | file: `macao verify` | file: JavaScript | database: API | database: `macao verify` | database: JavaScript \
| receipt |
|---|---|---|---|---|---|---|
"""


def page(rows: Mapping[str, Row]) -> str:
    """Return the page."""
    parts = [HEAD]
    for title, text, tamperings in SECTIONS:
        lines = (f"| {each.name} | {' | '.join(rows[each.name].cells)} |\n" for each in tamperings)
        parts.append(f"## {title}\n\n{text}\n\n{COLUMNS}{''.join(lines)}")
    return "\n".join(parts)
