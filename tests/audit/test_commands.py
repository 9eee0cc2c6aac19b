"""The commands around a record, as a person runs them: with nothing but the file."""

import base64
import json
import os
import pty
import random
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from services.engine.replay import Replay
from services.engine.rules.catalogue import CATALOGUE
from tests.audit.play import KEY, KEY_ID, MATCH, OTHER_KEY, play, record, sit_down

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 60.0

EVENTS = play(sit_down(CATALOGUE, "dice-race", {"chips_to_win": 2}, 3), random.Random(8))
LINES = record(EVENTS)
STANDINGS = [
    f"{each.place}. Seat {each.seat}  {each.player}" for each in Replay(EVENTS, CATALOGUE).standings()
]


def macao(*arguments: str | Path, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run a command in an environment with nothing in it: no setting, no path, no home."""
    return subprocess.run(
        [sys.executable, "-m", "services.cli", *map(str, arguments)],
        cwd=ROOT, env=more.pop("env", {}), timeout=PATIENCE_SECONDS, capture_output=True, text=True, check=False,
        **more,
    )  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "match.ndjson"
    path.write_bytes(b"".join(LINES))
    return path


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A service that has one record."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == f"/v1/matches/{MATCH}/record"
            problem = {"title": "There is nothing here", "detail": "Check the id and the path."}
            body = b"".join(LINES) if found else json.dumps(problem).encode()
            self.send_response(200 if found else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()


class TestVerify:
    def test_a_sound_record(self, file):
        said = macao("verify", file)
        assert said.returncode == 0
        assert said.stdout.startswith(
            f"Sound: the record of {MATCH} (dice-race@1) is whole and true, all {len(EVENTS)} events."
        )
        assert not said.stderr

    def test_standard_input(self, file):
        assert macao("verify", "-", input=file.read_text()).returncode == 0

    def test_a_tampered_record_names_the_version_in_its_first_sentence(self, file):
        file.write_bytes(b"".join([*LINES[:9], LINES[9].replace(b'"at_ms":1', b'"at_ms":2'), *LINES[10:]]))
        said = macao("verify", file)
        assert said.returncode == 1
        assert said.stdout.splitlines()[0] == f"Not sound: the record of {MATCH} goes wrong at version 9."
        assert "- version 9, chain: " in said.stdout

    def test_json(self, file):
        said = json.loads(macao("verify", file, "--json").stdout)
        assert (said["sound"], said["first_bad_version"], said["events"]) == (True, None, len(EVENTS))
        file.write_bytes(b"".join([*LINES[:5], *LINES[6:]]))
        broken = macao("verify", file, "--json")
        assert broken.returncode == 1
        said = json.loads(broken.stdout)
        assert (said["sound"], said["first_bad_version"], said["findings"][0]["check"]) == (False, 5, "order")

    @pytest.mark.parametrize("content", [b"", b"hello\nworld\n", b"\x00\xff" * 99, b"{}\n" * 5])
    def test_what_is_no_record_at_all(self, file, content):
        file.write_bytes(content)
        said = macao("verify", file)
        assert said.returncode == 2
        assert "is not the record of a match" in said.stderr
        assert not said.stdout

    def test_a_file_that_is_not_there_or_not_one(self, tmp_path):
        for path in (tmp_path / "none", tmp_path):
            said = macao("verify", path)
            assert said.returncode == 2
            assert "cannot be read" in said.stderr

    def test_the_service_s_key_in_every_form(self, file, tmp_path):
        raw = KEY.public_key().public_bytes_raw()
        web_key = {
            "kty": "OKP",
            "crv": "Ed25519",
            "kid": KEY_ID,
            "x": base64.urlsafe_b64encode(raw).decode().rstrip("="),
        }
        token_key = web_key | {"kid": "k_token", "macao_purpose": "token"}
        pem = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
        path = tmp_path / "key"
        for content in (
            json.dumps({"keys": [token_key, web_key]}),
            json.dumps(web_key),
            pem,
            base64.b64encode(raw).decode() + "\n",
        ):
            path.write_text(content)
            said = macao("verify", file, "--key", path)
            assert said.returncode == 0, content + said.stdout + said.stderr
            assert "known from the record alone" not in said.stdout
        assert macao("verify", file, "--key", web_key["x"]).returncode == 0

    def test_another_key(self, file, tmp_path):
        other = OTHER_KEY.public_key().public_bytes_raw()
        said = macao("verify", file, "--key", base64.urlsafe_b64encode(other).decode())
        assert said.returncode == 1
        assert "is another key under that id" in said.stdout
        keys = {"keys": [{"kid": "k_x", "x": base64.urlsafe_b64encode(other).decode()}]}
        (tmp_path / "keys").write_text(json.dumps(keys))
        said = macao("verify", file, "--key", tmp_path / "keys")
        assert said.returncode == 1
        assert "is not among the keys that were given" in said.stdout

    @pytest.mark.parametrize(
        "key", ["", "abc", "ü", "x" * 43 + "!", "-----BEGIN", '{"keys": []}', '{"x": 1}', "{"]
    )
    def test_a_key_that_is_none(self, file, tmp_path, key):
        (tmp_path / "key").write_text(key)
        said = macao("verify", file, "--key", tmp_path / "key")
        assert said.returncode == 2
        assert "the key is none" in said.stderr


class TestReplay:
    def test_every_step_in_words_and_the_standings(self, file):
        for arguments in ((), ("--all",)):
            said = macao("replay", file, *arguments)
            assert said.returncode == 0
            lines = said.stdout.splitlines()
            assert lines[0] == " 1  A match of dice-race begins, with 3 seats"
            assert [line for line in lines if line.startswith(f"{len(EVENTS)}  ")]
            assert lines[-3:] == STANDINGS

    def test_one_position(self, file):
        version = next(event.version for event in EVENTS if event.type == "rolled")
        said = macao("replay", file, "--to", str(version)).stdout
        assert f"version {version} of {len(EVENTS)}" in said
        assert "rolled" in said
        assert "┌───────┐" in said
        assert "may roll or stand" in said

    def test_through_a_seat_s_eyes(self, file):
        assert macao("replay", file, "--seat", "1", "--to", "5").returncode == 0
        said = macao("replay", file, "--seat", "3")
        assert said.returncode == 1
        assert "There is no seat 3: the match has the seats 0 to 2." in said.stderr

    def test_a_version_that_is_not_there(self, file):
        said = macao("replay", file, "--to", "999")
        assert said.returncode == 1
        assert f"the match has the versions 1 to {len(EVENTS)}" in said.stderr

    def test_a_record_that_is_not_sound_is_said_to_be(self, file):
        file.write_bytes(b"".join([*LINES[:9], LINES[9].replace(b'"at_ms":1', b'"at_ms":2'), *LINES[10:]]))
        assert macao("replay", file).stdout.startswith("This record is not sound from version 9 on")

    def test_what_is_no_record(self, file, tmp_path):
        file.write_text("hello")
        for path in (file, tmp_path / "none", tmp_path):
            said = macao("replay", path)
            assert said.returncode == 1
            assert said.stderr.count("\n") == 1

    def test_by_id(self, server):
        said = macao("replay", MATCH, "--server", server)
        assert said.stdout.splitlines()[-3:] == STANDINGS
        assert macao("replay", MATCH, env={"MACAO_SERVER": server}).stdout == said.stdout

    def test_the_keys_step_through_it(self, file):
        with Terminal("replay", str(file)) as terminal:
            terminal.wait_for("version 1 of")
            terminal.press("n", "version 2 of")
            terminal.press("\x1b[C", "version 3 of")
            terminal.press("p", "version 2 of")
            terminal.press("g12\r", "version 12 of")
            terminal.press("g999\r", f"version {len(EVENTS)} of {len(EVENTS)}")
            terminal.press("n", f"version {len(EVENTS)} of {len(EVENTS)}")
            terminal.press("a", "version 1 of")
            settled = [each for each in range(2, 9) if EVENTS[each - 1].command != EVENTS[each].command]
            terminal.press("m", f"version {len([e for e in EVENTS if e.command == EVENTS[0].command])} of")
            terminal.press("m", f"version {settled[1]} of")
            terminal.press("b", f"version {settled[0]} of")
            terminal.press("s", "as Seat 0 saw it")
            terminal.press("z", f"version {len(EVENTS)} of {len(EVENTS)}")
            terminal.press("q", STANDINGS[-1].split("  ")[0])
            assert terminal.wait() == 0


class TestExport:
    def test_into_a_file(self, server, tmp_path):
        path = tmp_path / "out.ndjson"
        said = macao("export", MATCH, "-o", path, "--server", server)
        assert said.returncode == 0
        assert f"{len(EVENTS)} events" in said.stdout
        assert path.read_bytes() == b"".join(LINES)
        assert macao("verify", path).returncode == 0

    def test_to_standard_output(self, server):
        assert macao("export", MATCH, "-o", "-", env={"MACAO_SERVER": server}).stdout.encode() == b"".join(
            LINES
        )

    @pytest.mark.parametrize("match", ["m_1", "t_01KB9YTEST0000000000000000", "../../etc"])
    def test_what_is_no_match(self, server, match):
        said = macao("export", match, "--server", server)
        assert said.returncode == 1
        assert "is not the id of a match" in said.stderr

    def test_a_match_that_is_not_there(self, server):
        said = macao("export", MATCH[:-1] + "9", "--server", server)
        assert said.returncode == 1
        assert "There is nothing here: Check the id and the path. (404)" in said.stderr

    @pytest.mark.parametrize("server", ["http://127.0.0.1:9", "nonsense", "http://[::1", "ftp://127.0.0.1"])
    def test_a_service_that_is_not_there(self, server):
        said = macao("export", MATCH, "--server", server)
        assert said.returncode == 1
        assert "does not answer" in said.stderr
        assert said.stderr.count("\n") == 1


class Terminal:
    """A command in a terminal of its own."""

    def __init__(self, *arguments: str) -> None:
        self._master, slave = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "services.cli", *arguments],
            cwd=ROOT, env={"TERM": "xterm", "COLUMNS": "120", "LINES": "40"}, stdin=slave, stdout=slave, stderr=slave,
        )  # fmt: skip
        os.close(slave)
        self._said = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._master)

    def press(self, keys: str, then: str) -> None:
        self._said = ""
        os.write(self._master, keys.encode())
        self.wait_for(then)

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while text not in self._said:
            assert time.monotonic() < deadline, f"{text!r} is not in {self._said!r}"
            if select.select([self._master], [], [], 0.1)[0]:
                self._said += os.read(self._master, 65536).decode(errors="replace")

    def wait(self) -> int:
        return self._process.wait(PATIENCE_SECONDS)
