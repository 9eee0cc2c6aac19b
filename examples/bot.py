"""A bot in one file: it plays a match of any game against the service's bots, over a network that may fail.

    python3 bot.py                                  # dice-race
    python3 bot.py --game cards-places --level sharp

It needs httpx, and a service (by default the one that ``./macao up`` starts). ``choose`` is what there is to improve.
"""

import argparse
import itertools
import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx

Json = dict[str, Any]

PAUSE_SECONDS = 0.2
PAUSE_SECONDS_MAX = 5.0
ATTEMPTS_MAX = 100
SILENCE_SECONDS = 40  # a stream says something every 15 s; one that does not has lost its connection
AGAIN = (429, 500, 502, 503, 504)


class RefusedError(Exception):
    """The service said no; ``problem`` says why, and what to do (docs/guide.md)."""

    def __init__(self, problem: Json) -> None:
        super().__init__(f"{problem['code']}: {problem['detail']} {problem['advice']}")
        self.problem = problem


class Macao:
    """The service, as one player sees it.

    What is lost on the way is sent again. Every write has an idempotency key that its repetitions share, so that it is
    carried out once, however often it arrives.
    """

    def __init__(self, server: str, name: str) -> None:
        timeout = httpx.Timeout(10, read=SILENCE_SECONDS)
        self.http = httpx.Client(base_url=f"{server}/v1", timeout=timeout)
        self.authorization: dict[str, str] = {}
        self.session: Json = self.ask("POST", "/players", {"name": name})
        self.authorization = {"Authorization": f"Bearer {self.session['token']}"}

    def ask(self, method: str, path: str, body: Json | None = None, *, version: int | None = None) -> Json:
        """Send a request until it is answered for good, and return the answer.

        Args:
            method: GET, or one that writes.
            path: behind ``/v1``.
            body: what goes along as JSON.
            version: of the match that a move was chosen at.
        """
        headers = {} if method == "GET" else {"Idempotency-Key": uuid4().hex}
        if version is not None:
            headers["If-Match"] = f'"{version}"'
        pause = PAUSE_SECONDS
        for _ in range(ATTEMPTS_MAX):
            wait = pause
            try:
                answer = self.http.request(method, path, json=body, headers=headers | self.authorization)
            except httpx.TransportError:
                pass
            else:
                if answer.is_success:
                    done: Json = answer.json()
                    return done
                if answer.status_code == 401 and self.authorization:
                    self.refresh()
                elif answer.status_code not in AGAIN:
                    raise RefusedError(answer.json())
                wait = float(answer.headers.get("Retry-After", pause))
            time.sleep(wait)
            pause = min(pause * 2, PAUSE_SECONDS_MAX)
        raise TimeoutError(f"no answer to {method} {path}")

    def refresh(self) -> None:
        """Get the next token: each is good for an hour. A refresh token is good once."""
        self.authorization = {}
        self.session |= self.ask("POST", "/tokens/refresh", {"refresh_token": self.session["refresh_token"]})
        self.authorization = {"Authorization": f"Bearer {self.session['token']}"}

    def follow(self, match: str) -> Iterator[tuple[int, str, Json]]:
        """Yield the id, type and data of every event of a match, from now on, over as many connections as it takes."""
        last_id: dict[str, str] = {}
        for _ in itertools.repeat(None):
            try:
                with self.http.stream(
                    "GET", f"/matches/{match}/stream", headers=self.authorization | last_id
                ) as answer:
                    if answer.status_code == 200:
                        for name, data in frames(answer):
                            last_id = {"Last-Event-ID": name["id"]}
                            yield int(name["id"]), name["event"], data
                    elif answer.status_code == 401:
                        self.refresh()
            except httpx.TransportError:
                pass
            time.sleep(PAUSE_SECONDS)


def frames(answer: httpx.Response) -> Iterator[tuple[dict[str, str], Json]]:
    """Read server-sent events: lines of ``field: value``, and an empty line that makes them an event."""
    fields: dict[str, str] = {}
    for line in answer.iter_lines():
        if line:
            field, _, value = line.partition(": ")
            fields[field] = value
        elif "data" in fields:
            yield fields, json.loads(fields["data"])
            fields = {}


def choose(view: Json) -> Json:
    """Choose one of ``view["legal"]``, which is not empty."""
    legal: dict[str, list[Json]] = {}
    for move in view["legal"]:
        legal.setdefault(move["type"], []).append(move)
    position = view["view"]
    me = position["players"][view["your_seat"]]
    if "call" in legal:  # "Macao!", before somebody catches us
        return legal["call"][0]
    if "catch" in legal:
        return legal["catch"][0]
    if "stake" in legal:  # a stake is offered as its range
        return {"type": "stake", "amount": legal["stake"][0]["min"]}
    if "play" in legal:  # as many cards as can go, with the word where it is due
        return max(legal["play"], key=lambda move: (len(move["cards"]), move.get("macao", False)))
    if "ask" in legal:  # another card, unless the first is good enough
        return legal["ask" if me["total"] <= 4 else "stand"][0]
    if "roll" in legal and "stand" in legal:  # three more may well be too many
        total = position["total"] if position["game"] == "dice-race" else me["total"]
        return legal["stand" if total > position["target"] - 4 else "roll"][0]
    offered: list[Json] = view["legal"]
    return offered[0]


def play(macao: Macao, match: str) -> Json:
    """Play a match to its end, and return its last view."""
    seen = 0
    for version, event, _ in macao.follow(match):
        if version <= seen and event != "snapshot":
            continue  # one command leads to several events; the view knew them all
        view = macao.ask("GET", f"/matches/{match}")
        while view["legal"]:
            try:
                macao.ask("POST", f"/matches/{match}/moves", {"move": choose(view)}, version=view["version"])
            except RefusedError as refused:
                if refused.problem["status"] not in (409, 412):
                    raise  # 409 and 412: somebody was faster, and the match has moved on
            view = macao.ask("GET", f"/matches/{match}")
        if view["status"] != "running":
            return view
        seen = view["version"]
    raise AssertionError("a stream does not end before its match")


def main() -> None:
    """Sit down, play, tell."""
    arguments = argparse.ArgumentParser(description="Play a match of Macao against the service's bots.")
    arguments.add_argument("--server", default=os.environ.get("MACAO_SERVER", "http://127.0.0.1:8000"))
    arguments.add_argument("--game", default="dice-race")
    arguments.add_argument("--level", choices=["casual", "sharp"], default="casual")
    arguments.add_argument("--seats", type=int, default=2)
    wanted = arguments.parse_args()

    macao = Macao(wanted.server, "Example Bot")
    table = macao.ask("POST", "/tables", {"game": wanted.game, "seats": wanted.seats})["id"]
    for _ in range(wanted.seats - 1):
        macao.ask("POST", f"/tables/{table}/bots", {"level": wanted.level})
    match = macao.ask("POST", f"/tables/{table}/start")["match_id"]
    print(f"Playing {match}")
    view = play(macao, match)
    print(f"Place {view['places'][view['your_seat']]} of {len(view['places'])} in {view['version']} events")


if __name__ == "__main__":
    try:
        main()
    except RefusedError as refusal:
        sys.exit(str(refusal))
