"""Every way in which a record is read at once, for tests that hand over what is none."""

from collections.abc import Sequence

import msgspec

from services.engine.audit import Verdict, audit_lines, describe
from services.engine.record import RecordError, read_record
from services.engine.replay import Replay, ReplayError
from services.engine.rules.catalogue import CATALOGUE


def told(lines: Sequence[bytes]) -> Verdict:
    """Audit and replay a file; none of the ways may raise anything but its own error."""
    verdict = audit_lines(lines, CATALOGUE)
    assert describe(verdict)
    msgspec.json.encode(verdict)
    try:
        Replay(read_record(lines).events, CATALOGUE)
    except (RecordError, ReplayError):
        assert not verdict.sound
    return verdict
