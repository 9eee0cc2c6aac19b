"""The verifier as a person runs it: a script, a file and an exit code; and where a browser lacks something."""

import json

import pytest

from tests.audit import example
from tests.audit.play import KEY_ID
from tests.support.javascript import VERIFIER, node
from tests.support.tree import ROOT

SCRIPT = VERIFIER / "verify-cli.mjs"
LINES = example.FILE.read_bytes().splitlines(keepends=True)
KEY = json.loads(LINES[0])["public_key"]
OTHER_KEY = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"


def test_a_sound_record():
    said = node(SCRIPT, example.FILE)
    assert said.returncode == 0
    assert said.stdout.startswith(b"Sound: 18 events, 7 commands, 6 draws and 0 seals")
    assert b"known from the record alone" in said.stdout


def test_standard_input_and_a_known_key(tmp_path):
    jwks = tmp_path / "jwks.json"
    jwks.write_text(json.dumps({"keys": [{"kid": KEY_ID, "crv": "Ed25519", "x": KEY, "kty": "OKP"}]}))
    for key in (KEY, str(jwks)):
        said = node(SCRIPT, "-", "--key", key, given=b"".join(LINES))
        assert said.returncode == 0, said.stderr
        assert b"known from the record alone" not in said.stdout


def test_another_key():
    said = node(SCRIPT, example.FILE, "--key", OTHER_KEY)
    assert said.returncode == 1
    assert b"signed with another key than the one that was given" in said.stdout


def test_a_changed_event_is_named(tmp_path):
    path = tmp_path / "match.ndjson"
    path.write_bytes(b"".join([*LINES[:9], LINES[9].replace(b'"at_ms":1', b'"at_ms":2'), *LINES[10:]]))
    said = node(SCRIPT, path)
    assert said.returncode == 1
    assert said.stdout.startswith(b"Not sound: it goes wrong at version 9.\n  version 9, chain: ")
    verdict = json.loads(node(SCRIPT, path, "--json").stdout)
    assert (verdict["sound"], verdict["first_bad_version"]) == (False, 9)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["no-such-file"],
        [ROOT / "README.md"],
        [ROOT],
        [example.FILE, "--key", "x"],
        [example.FILE, "--key", ROOT / "README.md"],
        [example.FILE, example.FILE],
        [example.FILE, "--frobnicate"],
    ],
)
def test_what_cannot_be_read(arguments):
    said = node(SCRIPT, *arguments)
    assert said.returncode == 2
    assert said.stderr.startswith(b"macao-verify: ")
    assert said.stderr.count(b"\n") == 1
    assert not said.stdout


WITHOUT = """
import {{ readFileSync }} from "node:fs";
{lack}
const {{ verify }} = await import("{module}");
const verdict = await verify(readFileSync("{file}"));
console.log(JSON.stringify(verdict));
"""
NO_ED25519 = """
const { importKey } = crypto.subtle;
crypto.subtle.importKey = function (format, data, algorithm, ...others) {
  if (algorithm.name === "Ed25519") throw new DOMException("Unrecognized name.", "NotSupportedError");
  return importKey.call(crypto.subtle, format, data, algorithm, ...others);
};
"""
NO_WEBCRYPTO = 'Object.defineProperty(globalThis, "crypto", { value: {} });'


@pytest.mark.parametrize(
    ("lack", "check", "code"),
    [
        (NO_ED25519, "signature", "signature-not-checkable"),
        (NO_WEBCRYPTO, "chain", "webcrypto-missing"),
    ],
)
def test_a_browser_that_lacks_something_never_says_sound(tmp_path, lack, check, code):
    script = tmp_path / "without.mjs"
    script.write_text(WITHOUT.format(lack=lack, module=VERIFIER / "macao-verify.js", file=example.FILE))
    said = node(script)
    verdict = json.loads(said.stdout)
    assert not verdict["sound"]
    assert not verdict["checkable"]
    assert verdict["first_bad_version"] is None
    assert code in [finding["code"] for finding in verdict["findings"]]
    assert verdict["checks"][check] == "unchecked"
    assert "bad" not in verdict["checks"].values()
    if check == "chain":
        assert set(verdict["checks"].values()) == {"unchecked"}


def test_a_hundred_findings_are_kept_and_the_first_is_among_them(javascript):
    event = LINES[9]
    many = [*LINES[:3], *[event] * 5000, *LINES[3:]]
    said = javascript.verify(many)
    assert len(said["findings"]) == 100
    assert said["more_findings"]
    assert said["first_bad_version"] == 3
    assert said["told"]["findings"] > 4000


def test_the_module_is_one_file_without_dependencies():
    source = (VERIFIER / "macao-verify.js").read_text()
    assert "import " not in source.replace("@typedef", "").split("export const FORMAT")[0]
    assert "\nimport" not in source
    assert "require(" not in source
    assert "process." not in source
