"""Every verb, performed: what it comes to shows itself, and is the same from Python, a command line and JSON."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from asked import ASKED, ELSEWHERE, requests, write_files
from in_process import hocket

from hocket.api.command_line import words_of
from hocket.api.result import Result
from hocket.api.verbs import VERBS

EACH = dict(requests())


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    write_files(folder)
    return folder


@pytest.fixture(autouse=True)
def folder(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of one's own with the files in it."""
    for path in files.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_verb_is_asked_or_tested_elsewhere() -> None:
    assert {*ASKED, *ELSEWHERE} == {*VERBS}
    assert all((Path(__file__).parents[2] / path).is_file() for path in ELSEWHERE.values())


@pytest.mark.parametrize("name", EACH)
def test_results_show_themselves(name: str) -> None:
    request = EACH[name]()
    result = request.perform()
    assert isinstance(result, Result) and result.request == request
    assert 10 < len(repr(result)) < 200, repr(result)
    assert "object at 0x" not in repr(result) + result.summary()
    assert unescape(result._repr_html_()).startswith("<pre>" + result.summary())
    tables = result.tables()
    for table, columns in result.columns().items():
        lengths = {column: len(values) for column, values in columns.items()}
        assert len(set(lengths.values())) == 1, f"{table}: {lengths}"
        assert list(tables[table]) == list(columns)


@pytest.mark.parametrize("name", EACH)
def test_the_command_line_does_the_same(name: str, folder: Path) -> None:
    request = EACH[name]()
    told: list[str] = []
    result = request.perform(Told(told))
    written = contents(folder)
    done = hocket(*words_of(request))
    assert done.returncode == result.exit_code, done.stderr
    said = "".join(f"{line}\n" for line in [*told, *([result.summary()] if result.summary() else [])])
    assert same(done.stdout) == same(said)
    assert contents(folder) == written


class Told:
    """Progress that keeps the lines of the result."""

    def __init__(self, lines: list[str]) -> None:
        self.say = lines.append

    def note(self, line: str) -> None:
        pass

    def count(self, done: int, of: int, what: str) -> None:
        pass

    def status(self, line: str) -> None:
        pass


def contents(folder: Path) -> dict[str, str | bytes]:
    """What was written there, but for what is never the same twice."""
    paths = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(folder)): same(path.read_bytes()) for path in paths}


def same(content: bytes | str) -> str | bytes:
    """Without what is measured, and the names that plotly gives its figures."""
    try:
        text = content if isinstance(content, str) else content.decode()
    except UnicodeDecodeError:
        return content
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "figure", text)
    return re.sub(r'\d+\.\d+(e-\d+)? s\b|("\w*seconds": )[\d.e-]+', r"\2x s", text)
