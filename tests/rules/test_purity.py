"""The contracts and the rules reach for nothing outside themselves: seen in their syntax, without running them."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PURE = sorted(
    path
    for package in ("services/contracts", "services/engine/rules")
    for path in (ROOT / package).rglob("*.py")
)

# All that pure modules may import from outside; anything else would have to be argued for here.
ALLOWED = {
    "__future__", "abc", "base64", "collections", "collections.abc", "dataclasses", "enum", "functools", "hashlib",
    "hmac", "itertools", "math", "msgspec", "operator", "re", "types", "typing",
}  # fmt: skip
OURS = ("services.contracts", "services.engine.rules")

# Built in, and yet a way out: to files and people, to code made of text, to addresses and salted hashes.
FORBIDDEN_CALLS = {
    "open", "print", "input", "breakpoint", "eval", "exec", "compile", "__import__", "globals", "vars", "id", "hash",
}  # fmt: skip


def test_there_is_something_to_look_at():
    assert len(PURE) > 10


@pytest.mark.parametrize("path", PURE, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_pure_module_imports_neither_clocks_nor_chance_nor_io(path):
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            imported.add(node.module)
    foreign = {
        name for name in imported
        if name not in ALLOWED and not name.startswith(("msgspec.", *OURS))
    }  # fmt: skip
    assert foreign == set()
    if "contracts" in path.parts:
        assert not any(name.startswith("services.engine") for name in imported)


@pytest.mark.parametrize("path", PURE, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_pure_module_calls_nothing_that_reaches_out_and_keeps_nothing(path):
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in FORBIDDEN_CALLS, f"{path}:{node.lineno}: {node.func.id}()"
        assert not isinstance(node, ast.Global | ast.AsyncFunctionDef | ast.Await), f"{path}:{node.lineno}"


@pytest.mark.parametrize("path", PURE, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_depends_on_the_order_of_a_set(path):
    """Going through a set goes through hashes, which differ from process to process."""
    for node in ast.walk(ast.parse(path.read_text())):
        over = [node.iter] if isinstance(node, ast.For | ast.comprehension) else []
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in {"list", "tuple", "iter"}
        ):
            over = node.args
        for what in over:
            a_set = isinstance(what, ast.Set | ast.SetComp) or (
                isinstance(what, ast.Call)
                and isinstance(what.func, ast.Name)
                and what.func.id in {"set", "frozenset"}
            )
            assert not a_set, f"{path}:{node.lineno}" if hasattr(node, "lineno") else path
