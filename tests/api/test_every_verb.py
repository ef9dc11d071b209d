"""Every verb, performed: what it comes to shows itself, and is the same from Python, a command line and JSON."""

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from html import unescape
from pathlib import Path

import pytest
from asked import ASKED, ELSEWHERE, requests, write_files
from in_process import hocket

from hocket.api.command_line import words_of
from hocket.api.provenance import request_in
from hocket.api.result import Result
from hocket.api.simulate.request import Simulation
from hocket.api.verbs import VERBS
from hocket.base.errors import HocketError

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
    assert {*ASKED, *ELSEWHERE} == {*VERBS}, "tests/api/asked.py says what each verb is asked"
    assert all((Path(__file__).parents[2] / path).is_file() for path in ELSEWHERE.values())


def test_every_verb_writes_json() -> None:
    without = {
        words for words, verb in VERBS.items() if "json" not in {field.name for field in verb.request().fields()}
    }
    assert without == {"trace to-json"}  # which prints nothing else


@pytest.mark.parametrize("name", EACH)
def test_results_show_themselves(name: str) -> None:
    request = EACH[name]()
    result = request.perform()
    assert isinstance(result, Result) and result.request == request
    assert 10 < len(repr(result)) < 200, repr(result)
    assert "object at 0x" not in repr(result) + result.summary()
    assert r"\n" not in result.summary()  # a line break that was taken for a name's
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
    said = "".join(f"{line}\n" for line in [*told, *([result.rest()] if result.rest() else [])])
    assert same(done.stdout) == same(said)
    assert contents(folder) == written


#: Names and kinds of files that carry their request; what Hocket writes in a format of others does not, nor programs.
CARRY = (".json", ".html", ".svg", ".yaml")
OTHERS = ("comm_groups.json", "plan.json", "program.json", "bundle.json")


@pytest.mark.parametrize("name", EACH)
def test_what_is_written_says_what_was_asked_and_is_made_again(name: str, folder: Path) -> None:
    request = EACH[name]()
    request.perform()
    written = contents(folder)
    asked = [path for path in written if path.endswith(CARRY) and Path(path).name not in OTHERS]
    outputs = {field.name for field in request.fields() if field.is_output}
    assert asked or not outputs & {*request.set_fields()} & {"json", "report", "timeline"}
    for path in asked:
        assert request_in(path) == request
    any_result = next((field for field in request.fields() if field.takes_any_result), None)
    if any_result and (path := request.value_of(any_result)):
        told = json.loads(Path(path).read_text(), parse_constant=pytest.fail)  # NaN is no JSON
        assert told["format"] == "hocket.result" and (told["lines"] != [""] or told["headline"])
    if asked:
        copied = request_in(asked[0])
        for path in written:
            Path(path).unlink()
        copied.perform()
        assert contents(folder) == written


def test_each_answer_of_a_sweep_can_be_asked_again() -> None:
    VERBS["sweep"].request().of("sweep.yaml", output="swept").perform()
    with closing(sqlite3.connect("swept/answers.sqlite")) as base:
        points = base.execute("SELECT request, answer FROM point").fetchall()
    assert len(points) == 2
    for request, answer in points:
        assert Simulation.from_json(request).perform().time_ps == json.loads(answer)["time_ps"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", "holds no request"),
        ("[1]", "holds no request"),
        ("text", "holds no request"),
        ('{"request": {"verb": "simulat"}}', "no known verb 'simulat'; did you mean 'simulate'"),
        ('{"request": {"verb": "simulate", "what": "x", "depth": 1}}', "unknown key 'depth'"),
        ('{"verb": "simulate"}', "missing required field `what`"),
    ],
)
def test_a_file_without_a_request_is_refused(content: str, message: str) -> None:
    Path("file.json").write_text(content)
    with pytest.raises(HocketError, match=re.escape("file.json: ")) as raised:
        request_in("file.json")
    assert message in str(raised.value)


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
    """Without what is measured."""
    try:
        text = content if isinstance(content, str) else content.decode()
    except UnicodeDecodeError:
        return content
    if '"ran_over"' in text or "# Out of bounds" in text:  # what a run measured
        text = re.sub(r'(?m)^ {4,}\d.*|("(?:time_ps|algbw|busbw)"|Avg bus bandwidth).*', r"\1", text)
    return re.sub(r'\d+\.\d+(e-\d+)? s\b|("(?:\w*seconds|peak_rss_bytes)": )[\d.e-]+', r"\2x s", text)
