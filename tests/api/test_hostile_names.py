"""Every verb, asked about files with hostile names: nothing that it prints or writes is obeyed."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asked import ASKED
from hostile_files import NAMES, SCRIPT, obeyed, write_hostile
from in_process import hocket

from hocket.api.command_line import words_of
from hocket.api.verbs import VERBS

EACH = [pytest.param(words, number, id=f"{words} {number}") for words in ASKED for number in range(len(ASKED[words]))]


@pytest.fixture(scope="module", params=NAMES)
def hostile(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    folder = tmp_path_factory.mktemp("hostile")
    return folder, write_hostile(folder, NAMES[request.param])


@pytest.fixture
def folder(hostile: tuple[Path, dict[str, str]], tmp_path: Path) -> Iterator[Path]:
    for path in hostile[0].iterdir():
        (tmp_path / path.name).symlink_to(path)
    yield tmp_path
    shutil.rmtree(tmp_path)


def renamed(value: Any, called: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [renamed(each, called) for each in value]
    if not isinstance(value, str):
        return value
    first, _, rest = value.partition("/")
    return called[first] + (f"/{rest}" if rest else "") if first in called else value


@pytest.mark.parametrize(("words", "number"), EACH)
def test_nothing_is_obeyed(words: str, number: int, hostile: tuple[Path, dict[str, str]], folder: Path) -> None:
    plain = ASKED[words][number]
    request = VERBS[words].request().of(**{field: renamed(value, hostile[1]) for field, value in plain.items()})
    done = hocket(*words_of(request), cwd=folder)
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1), done.stderr
    assert not list(obeyed("", done.stdout + done.stderr)), done.stdout + done.stderr
    written = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    for path in written:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a trace or a schedule: no text
        if path.suffix not in (".schedule", ".et"):
            assert not list(obeyed(path.name, text)), path


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("", "a\rb"),
        ("", "\x1b[2J"),
        ("made.csv", "a,b\n=cmd(),1\n"),
        ("made.csv", "a,b\nc\n"),
        ("made.html", f"<p><script>{SCRIPT}</script>"),
        ("made.html", "<p><img src=x onerror=y>"),
        ("made.svg", f"<svg><script>{SCRIPT}</script></svg>"),
        ("README.md", "| a | b |\n|---|---|\n| x | y | z |\n"),
    ],
)
def test_what_would_be_obeyed_is_found(path: str, text: str) -> None:
    assert list(obeyed(path, text))
