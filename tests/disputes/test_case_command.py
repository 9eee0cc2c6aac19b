"""``macao case``: the report on standard output, and advice for whatever goes wrong."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.disputes.scenes import DOCS
from tests.support.up import ROOT

DISPUTE = "d_01KB9YTEST0000000000000000"
REPORT = (DOCS / "dice-race-bust.md").read_text(encoding="utf-8")


class Service(BaseHTTPRequestHandler):
    def do_GET(self):
        secret = self.headers.get("Authorization") == "Bearer a-token"
        known = self.path == f"/v1/disputes/{DISPUTE}/case" or secret
        as_json = self.headers["Accept"] == "application/json"
        body = (
            b'{"id":1}'
            if as_json
            else REPORT.encode()
            if known
            else b'{"title": "Nothing", "detail": "No such."}'
        )
        self.send_response(200 if known else 404)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    service = HTTPServer(("127.0.0.1", 0), Service)
    thread = threading.Thread(target=service.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{service.server_port}"
    service.shutdown()
    thread.join()
    service.server_close()


def case(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "services.cli", "case", *arguments]
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


def test_the_report_as_it_is(server):
    assert case(DISPUTE, "--server", server).stdout == REPORT
    assert case(DISPUTE, "--server", server, "--json").stdout == '{"id":1}\n'


def test_a_match_that_still_runs_takes_a_token(server):
    other = DISPUTE[:-1] + "9"
    said = case(other, MACAO_SERVER=server)
    assert said.returncode == 1 and "No such. (404)" in said.stderr
    assert case(other, MACAO_SERVER=server, MACAO_TOKEN="a-token").stdout == REPORT


def test_what_is_no_dispute():
    said = case("m_01KB9YTEST0000000000000000")
    assert said.returncode == 1 and "is not the id of a dispute" in said.stderr
