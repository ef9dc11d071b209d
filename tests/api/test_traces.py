"""`hocket.trace_...` from Python: what comes back goes on to the next step."""

import json
from pathlib import Path

import pytest
from trace_commands import write_training

import hocket
from hocket.base.errors import ExitCode


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_training(tmp_path_factory.mktemp("job"))


def test_contents_are_a_table(job: Path) -> None:
    contents = hocket.trace_info(job)
    assert repr(contents) == "<TraceContents: 4 ranks, 96 nodes, 108 dependencies>"
    table = contents.columns()["communication"]
    rows = dict(zip(zip(table["kind"].tolist(), table["group"].tolist(), strict=True), table["num_nodes"], strict=True))
    # Each of 4 ranks in each of 4 steps: a message there and back, a sum in its half and one of all.
    assert rows == {
        ("all_reduce", "half0"): 8,
        ("all_reduce", "half1"): 8,
        ("all_reduce", ""): 16,
        ("send", ""): 16,
        ("recv", ""): 16,
    }


def test_a_part_is_read_counted_and_checked(job: Path, tmp_path: Path) -> None:
    part = hocket.trace_slice(job, output=tmp_path / "part", ranks="0,1", prefix="first")
    assert part.read().num_ranks == 2
    assert part.info().counts.num_nodes == part.num_nodes
    checked = part.validate()
    assert (checked.exit_code, checked.errors) == (ExitCode.DONE, 0)
    assert hocket.trace_diff(job, part.path).exit_code == ExitCode.CHECK_FAILED


def test_a_written_summary_says_what_was_asked_for(job: Path, tmp_path: Path) -> None:
    hocket.trace_info(job, json=tmp_path / "info.json")
    asked = json.loads((tmp_path / "info.json").read_text())["request"]
    assert hocket.TraceInfo.from_plain(asked, "info.json").files.traces == str(job)


def test_lines_are_told_one_by_one(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = list(hocket.trace_to_json(job / "trace.0.et").lines())
    assert len(lines) == 1 + 24
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"profile": "nvidia"}, "profile nvidia: no such choice; known: astra-sim, mlcommons"),
        ({"prefix": "a/b"}, "prefix 'a/b' does not begin a file name"),
    ],
)
def test_what_is_wrong_is_said_in_the_words_of_python(
    job: Path, tmp_path: Path, options: dict[str, str], message: str
) -> None:
    with pytest.raises(hocket.RequestError) as raised:
        hocket.trace_convert(job, output=tmp_path / "out", **options)
    assert message in str(raised.value)
    with pytest.raises(hocket.RequestError, match="limit 0: expected a number of at least 1"):
        hocket.trace_graph(job / "trace.0.et", output=tmp_path / "graph.dot", limit=0)
    assert not (tmp_path / "out").exists()
