"""A second verifier, written from docs/record.md alone: chain, seals, signature, receipt and chance, no code of ours.

It shows that the page says enough, and that it says what is done.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

FIELDS = {
    "header": "line format stream rules seats chain seal fairness signature key_id public_key",
    "event": "line version type schema actor command at_ms cause body sealed salt seal previous hash",
    "closing": "line version hash events key_id signature receipt",
}


class NotSoundError(Exception):
    """Says at which line."""


def check(value: object, line: int, why: str) -> None:
    if not value:
        raise NotSoundError(f"line {line}: {why}")


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def mac(key: bytes, message: str) -> bytes:
    return hmac.new(key, message.encode("ascii"), "sha256").digest()


def verify(content: bytes) -> None:
    """Raise unless the record is sound as far as a verifier without rules can say."""
    raw = content.decode().split("\n")
    check(raw.pop() == "", len(raw), "the last line has a line feed")
    lines = [json.loads(line) for line in raw]
    for number, (text, said) in enumerate(zip(raw, lines, strict=True), 1):
        kind = "header" if number == 1 else "closing" if number == len(lines) else "event"
        check(said["line"] == kind and list(said) == FIELDS[kind].split(), number, "fields")
        written = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
        check(written == text, number, "one way of writing")
    header, *events, closing = lines
    check(closing["key_id"] == header["key_id"], len(lines), "closing line")
    check_chain(header["stream"], events)
    head = events[-1]
    end = (closing["version"], closing["hash"], closing["events"])
    check(end == (head["version"], head["hash"], len(events)), len(lines), "the closing line")
    check_signature(raw[0], header, closing, len(lines))
    if closing["receipt"] is not None:
        check_receipt(closing["receipt"], header["stream"], closing, len(lines))
    check_chance(events)


def check_chain(stream: str, events: list[dict[str, Any]]) -> None:
    previous = "0" * 64
    for number, event in enumerate(events, 2):
        check(event["version"] == number - 1, number, "order")
        check(event["previous"] == previous, number, "link")
        seal = event["seal"]
        if event["sealed"] is not None:
            check(seal == sha256(f"macao-seal/1\n{event['salt']}\n{event['sealed']}"), number, "seal")
        parts = [
            "macao-chain/1", event["previous"], stream, event["version"], event["type"], event["schema"],
            event["actor"], event["command"], event["at_ms"], seal or "-", event["cause"] or "-", event["body"],
        ]  # fmt: skip
        previous = event["hash"]
        check(previous == sha256("\n".join(map(str, parts))), number, "hash")


def check_signature(first_line: str, header: dict[str, Any], closing: dict[str, Any], line: int) -> None:
    message = "\n".join(
        [
            "macao-record-signature/1",
            first_line,
            str(closing["version"]),
            closing["hash"],
            str(closing["events"]),
        ]
    )
    check_signed(header["public_key"], closing["signature"], message, line)


def check_signed(public_key: str, signature: str, message: str, line: int) -> None:
    key = Ed25519PublicKey.from_public_bytes(urlsafe_b64decode(public_key + "="))
    try:
        key.verify(urlsafe_b64decode(signature + "=="), message.encode())
    except InvalidSignature:
        check(False, line, "signature")


def check_receipt(receipt: dict[str, Any], stream: str, closing: dict[str, Any], line: int) -> None:
    fields = {
        "receipt": "position proof checkpoint",
        "checkpoint": "log size root at_ms key_id public_key signature",
    }
    checkpoint = receipt["checkpoint"]
    check(list(receipt) == fields["receipt"].split(), line, "fields of the receipt")
    check(list(checkpoint) == fields["checkpoint"].split(), line, "fields of the checkpoint")
    signed = [checkpoint[name] for name in ("log", "size", "root", "at_ms", "key_id")]
    message = "\n".join(map(str, ["macao-checkpoint/1", *signed]))
    check_signed(checkpoint["public_key"], checkpoint["signature"], message, line)
    leaf = ["macao-leaf/1", receipt["position"], stream, closing["version"], closing["hash"]]
    digest = hashlib.sha256(b"\x00" + "\n".join(map(str, leaf)).encode()).digest()
    number, last = receipt["position"] - 1, checkpoint["size"] - 1
    check(0 <= number <= last, line, "position")
    for part in map(bytes.fromhex, receipt["proof"]):
        check(last, line, "the proof is too long")
        if number % 2 or number == last:
            digest = hashlib.sha256(b"\x01" + part + digest).digest()
            while number and number % 2 == 0:
                number, last = number // 2, last // 2
        else:
            digest = hashlib.sha256(b"\x01" + digest + part).digest()
        number, last = number // 2, last // 2
    check(last == 0 and digest.hex() == checkpoint["root"], line, "the proof")


def check_chance(events: list[dict[str, Any]]) -> None:
    facts = [json.loads(event["sealed"] or event["body"]) for event in events]
    started, revealed = facts[0], facts[-1]
    match, seed = started["match"], bytes.fromhex(revealed["seed"])
    check(started["commitment"] == sha256(f"macao-fair/1:commit:{match}:{seed.hex()}"), 2, "commitment")
    seeds = [seat["seed"] for seat in started["seats"]]
    check(all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", given) for given in seeds), 2, "seeds")
    rules = f"{started['game']}@{started['rules_version']}"
    key = mac(seed, f"macao-fair/1:match:{match}:{rules}:{','.join(seeds)}")
    open_round, op, seen = None, 0, set()
    for number, fact in enumerate(facts, 2):
        round_key = mac(key, f"macao-fair/1:round:{fact['round']}") if "round" in fact else b""
        if fact["type"] == "chance-committed":
            check(open_round is None and fact["round"] not in seen, number, "one round at a time")
            check(
                fact["commitment"] == sha256(f"macao-fair/1:roundcommit:{round_key.hex()}"),
                number,
                "commitment",
            )
            open_round, op = fact["round"], 0
            seen.add(open_round)
        elif fact["type"] == "chance-revealed":
            check(fact["round"] == open_round and fact["key"] == round_key.hex(), number, "reveal")
            open_round = None
        elif "draw" in fact:
            draw = fact["draw"]
            check((draw["round"], draw["op"]) == (open_round, op), number, "place of the draw")
            check(
                draw["result"] == drawn_again(mac(key, f"macao-fair/1:round:{open_round}"), draw),
                number,
                "draw",
            )
            op += 1
    check(open_round is None, len(events) + 1, "every round is revealed")


def drawn_again(round_key: bytes, draw: dict[str, Any]) -> object:
    words = numbers(round_key, draw["op"])

    def uniform(n: int) -> int:
        while (x := next(words)) >= 2**32 - 2**32 % n:
            pass
        return x % n

    match draw["kind"]:
        case "dice":
            return [1 + uniform(6) for _ in range(draw["count"])]
        case "lot":
            return draw["among"][uniform(len(draw["among"]))]
        case _:
            cards = list(draw["cards"])
            for i in range(len(cards) - 1, 0, -1):
                j = uniform(i + 1)
                cards[i], cards[j] = cards[j], cards[i]
            return cards


def numbers(round_key: bytes, op: int) -> Iterator[int]:
    block = 0
    while True:
        data = mac(round_key, f"macao-fair/1:op:{op}:{block}")
        yield from (int.from_bytes(data[at : at + 4], "big") for at in range(0, 32, 4))
        block += 1
