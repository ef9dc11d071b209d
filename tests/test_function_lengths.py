"""No function of the package is longer than what is read at once."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LONGEST = 60  # lines, without the docstring
FOLDERS = sorted({path.name for path in (ROOT / "src" / "hocket").iterdir() if path.is_symlink()} - {"examples"})
#: They are to become requests, as all other commands are.
KNOWN = {"src/hocket/cli/run/command.py: run", "src/hocket/cli/translate/command.py: translate"}


def too_long(source: str) -> list[str]:
    """The functions of a source that are, with their lines."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            told = first.end_lineno - first.lineno + 1 if ast.get_docstring(node) and first.end_lineno else 0
            if (node.end_lineno or 0) - node.lineno + 1 - told > LONGEST:
                found.append(node.name)
    return found


@pytest.mark.parametrize("folder", ["src/hocket", *FOLDERS])
def test_functions_are_short(folder: str) -> None:
    # What lies behind a link in src/hocket is looked at where it is.
    files = [path for path in (ROOT / folder).rglob("*.py") if not any(each.is_symlink() for each in path.parents)]
    assert files or folder == "core"
    found = {f"{path.relative_to(ROOT)}: {name}" for path in files for name in too_long(path.read_text("utf-8"))}
    assert not found - KNOWN, f"longer than {LONGEST} lines: split them"


@pytest.mark.parametrize(("lines", "found"), [(LONGEST, []), (LONGEST + 1, ["f"])])
def test_a_function_that_is_too_long_is_found(lines: int, found: list[str]) -> None:
    assert too_long("def f():\n    '''Says\n    much.'''\n" + "    pass\n" * (lines - 1)) == found
