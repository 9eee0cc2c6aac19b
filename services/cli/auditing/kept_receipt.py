"""What somebody kept, held against the log as the service serves it today."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote

import httpx
import msgspec
from msgspec import Struct

from services.cli.advice import Advice
from services.cli.public_keys import UnusableKeyError, keys_in
from services.contracts.base64url import from_base64url
from services.contracts.checkpoint import Checkpoint, MatchReceipt, proves
from services.contracts.ids import DEFAULT_LOG
from services.contracts.loss import Loss
from services.contracts.merkle import consistent, included, leaf_hash
from services.engine.audit.receipt import why_unsigned
from services.engine.record import RecordError, read_record
from services.runtime.tree.signing import is_signed

PATIENCE_SECONDS: Final = 60.0
LOG: Final = "/v1/log"

T = TypeVar("T")


class Proof(Struct):
    """A proof as the service sends it."""

    proof: tuple[str, ...]


class Losses(Struct):
    """The losses that the service has declared."""

    items: tuple[Loss, ...]


class Kept(Struct, frozen=True):
    """What was kept: a checkpoint, and the match that it was given for, unless it was kept alone."""

    checkpoint: Checkpoint
    match: MatchReceipt | None


def read_kept(file: Path) -> Kept:
    """Read a record, the receipt of a match, or a checkpoint.

    Raises:
        Advice: it is none of these, or a record without a receipt.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        raise Advice(f"{file} cannot be read: {error.strerror}") from error
    if content.startswith(b'{"line":'):
        return _of_record(file, content)
    try:
        fields = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
        if "receipt" in fields:
            match = msgspec.json.decode(content, type=MatchReceipt)
            return Kept(match.receipt.checkpoint, match)
        return Kept(msgspec.json.decode(content, type=Checkpoint), None)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise Advice(f"{file} is no record, receipt or checkpoint: {error}") from error


def contradictions(kept: Kept, server: str, keys: Mapping[str, bytes]) -> list[str]:
    """Return in what the log of today contradicts what was kept; nothing if it holds it still.

    Args:
        kept: what was kept.
        server: the address of the service.
        keys: its keys by id.

    Raises:
        Advice: the service does not answer as it should.
    """
    checkpoint = kept.checkpoint
    problem = why_unsigned(checkpoint, keys)
    if problem:
        return [f"what was kept proves nothing: {problem}"]
    match = kept.match
    if match is not None and not proves(match.receipt, match.match, match.version, bytes.fromhex(match.hash)):
        return ["what was kept proves nothing: the receipt does not lead from the match to its checkpoint"]
    with httpx.Client(base_url=server, timeout=PATIENCE_SECONDS) as client:
        newest = _get(client, f"{LOG}/checkpoint{_of_log(checkpoint, '?')}", Checkpoint)
        if newest is None:
            return [
                f"a checkpoint of {checkpoint.size} events was signed, and the service says that none ever was"
            ]
        problem = why_unsigned(newest, keys)
        if problem:
            return [f"the newest checkpoint: {problem}"]
        declared = _declared_lost(client, checkpoint, keys)
        if declared:
            return declared
        if newest.size < checkpoint.size:
            return [
                f"a checkpoint of {checkpoint.size} events was signed, and the log is said to have {newest.size}"
            ]
        return [*_not_consistent(client, checkpoint, newest), *_not_included(client, match, newest)]


def _declared_lost(client: httpx.Client, kept: Checkpoint, keys: Mapping[str, bytes]) -> list[str]:
    """Tell of a loss that makes what was kept void: it contradicts the log of today, and the service says so itself."""
    found = _get(client, f"{LOG}/losses{_of_log(kept, '?')}", Losses)
    return [
        f"of the {kept.size} events whose checkpoint was kept all behind position {loss.kept} are lost, as the service"
        f" has declared: {loss.reason}"
        for loss in (() if found is None else found.items)
        if loss.voids(kept) and is_signed(loss) and keys.get(loss.key_id) == from_base64url(loss.public_key)
    ]


def _not_consistent(client: httpx.Client, kept: Checkpoint, newest: Checkpoint) -> list[str]:
    path = f"{LOG}/proofs/consistency?first={kept.size}&second={newest.size}{_of_log(kept)}"
    proof = _hashes(_get(client, path, Proof))
    roots = bytes.fromhex(kept.root), bytes.fromhex(newest.root)
    if proof is not None and consistent(kept.size, roots[0], newest.size, roots[1], proof):
        return []
    events = f"the {kept.size} events whose checkpoint was kept"
    return [f"the log of today does not begin with {events}: the service has signed two histories"]


def _not_included(client: httpx.Client, match: MatchReceipt | None, newest: Checkpoint) -> list[str]:
    if match is None:
        return []
    position = match.receipt.position
    path = f"{LOG}/proofs/inclusion?position={position}&size={newest.size}{_of_log(newest)}"
    proof = _hashes(_get(client, path, Proof))
    leaf = leaf_hash(position, match.match, match.version, bytes.fromhex(match.hash))
    root = bytes.fromhex(newest.root)
    if proof is not None and included(leaf, position - 1, newest.size, proof, root):
        return []
    return [
        f"at position {position} of the log of today does not stand the end of {match.match} that was kept"
    ]


def _of_log(checkpoint: Checkpoint, begins: str = "&") -> str:
    """Return the part of a query that names the log of a checkpoint; nothing for the one meant without it."""
    return "" if checkpoint.log == DEFAULT_LOG else f"{begins}log={quote(checkpoint.log, safe='')}"


def _of_record(file: Path, content: bytes) -> Kept:
    try:
        record = read_record(content.splitlines(keepends=True))
    except RecordError as error:
        raise Advice(f"{file} is no whole record ({error}): `macao verify` says more.") from error
    closing = record.closing
    if closing.receipt is None:
        raise Advice(
            f"{file} has no receipt: it was written before the log was sealed. Get it from "
            f"/v1/matches/{record.header.stream}/receipt while the service is honest."
        )
    receipt = MatchReceipt(
        match=record.header.stream, version=closing.version, hash=closing.hash, receipt=closing.receipt
    )
    return Kept(closing.receipt.checkpoint, receipt)


def _get(client: httpx.Client, path: str, kind: type[T]) -> T | None:
    """Return what the service answers, None where it says that there is no such thing (yet).

    Raises:
        Advice: it does not answer, or not as it should.
    """
    try:
        answer = client.get(path)
        if answer.status_code in {HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND}:
            return None
        answer.raise_for_status()
        return msgspec.json.decode(answer.content, type=kind)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise Advice(f"{client.base_url} does not answer: {error}") from error
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise Advice(f"{client.base_url}{path} is no answer of a Macao service: {error}") from error


def _hashes(answer: Proof | None) -> list[bytes] | None:
    try:
        return None if answer is None else [bytes.fromhex(part) for part in answer.proof]
    except ValueError:
        return None


def published_keys(server: str) -> Mapping[str, bytes]:
    """Return the record keys that the service publishes, by id.

    Raises:
        Advice: it does not answer, or publishes none.
    """
    try:
        answer = httpx.get(f"{server}/.well-known/jwks.json", timeout=PATIENCE_SECONDS)
        answer.raise_for_status()
        return keys_in(answer.content, "")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise Advice(f"{server} does not answer: {error}") from error
    except UnusableKeyError as error:
        raise Advice(f"{server} publishes no keys of a Macao service") from error
