"""What the file of a sweep may say beside lists: parameters, pairs, points, chance, formulas, figures."""

import csv
import sqlite3
from collections import Counter
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket
from hocket.api.sweep.arithmetic import evaluate
from hocket.api.sweep.expansion import Drawn, draw
from hocket.api.sweep.file import load_sweep
from hocket.base.errors import FormatError, RequestError

SPEC = """\
parameters: {factor: [1, 2, 4], nodes: 1..4}
zip: {shape: [ring, switch], links: [2, 1]}
topology: "{shape}:{nodes * 4},bandwidth={100 / factor / links}GB/s,latency=500ns"
collective: all_reduce
size: [1MiB, 4MiB]
algorithm: ring
model: analytical
"""


def write(text: str) -> Path:
    path = Path("sweep.yaml")
    path.write_text(text)
    return path


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_parameters_are_combined_and_pairs_go_together() -> None:
    file = load_sweep(write(SPEC))
    assert len(file.rows) == 2 * 3 * 3 * 2
    said = Counter(row.topology[0] for row in file.rows)  # type: ignore[union-attr]
    assert said["ring:4,bandwidth=50GB/s,latency=500ns"] == 2
    assert said["switch:16,bandwidth=25GB/s,latency=500ns"] == 2
    assert said["ring:8,bandwidth=12.5GB/s,latency=500ns"] == 2 and set(said.values()) == {2}
    assert file.parameters[0] == {"shape": "ring", "links": 2, "factor": 1, "nodes": 1}

    columns = hocket.sweep(write(SPEC + 'columns: {gbps: "busbw / 1e9", twice: 2}\n')).results
    assert columns["factor"].tolist()[:8] == [1] * 6 + [2] * 2 and columns["links"][0] == 2
    assert columns["gbps"].tolist() == (columns["busbw"] / 1e9).tolist() and set(columns["twice"]) == {2.0}
    assert len({(row["shape"], row["factor"], row["nodes"], row["size_bytes"]) for row in rows()}) == 36


def rows() -> list[dict[str, str]]:
    with Path("sweep/results.csv").open(encoding="utf-8") as table:
        return list(csv.DictReader(table))


def test_points_are_added_to_what_all_have() -> None:
    file = load_sweep(
        write(
            "collective: all_reduce\nsize: [1KiB, 1MiB]\npoints:\n"
            "  - {topology: dgx-h100, algorithm: ring}\n"
            "  - {topology: ['ring:4,bandwidth=1GB/s,latency=1us'], size: 8KiB, collective: all_gather}\n"
        )
    )
    assert [(row.what, row.size, row.algorithm) for row in file.rows] == [  # type: ignore[union-attr]
        ("all_reduce", "1024", ("ring",)),
        ("all_reduce", "1048576", ("ring",)),
        ("all_gather", "8192", ()),
    ]


def test_chance_is_kept_and_draws_the_same_again() -> None:
    whole = load_sweep(write(SPEC))
    spec = write(SPEC + "random: {points: 10, seed: 7}\n")
    once, again = load_sweep(spec), load_sweep(spec)
    other = load_sweep(write(SPEC + "random: {points: 10, seed: 8}\n"))
    assert once.rows == again.rows != other.rows and len(once.rows) == 10
    assert [whole.rows.index(row) for row in once.rows] == sorted(whole.rows.index(row) for row in once.rows)
    hocket.sweep(write(SPEC + "random: {points: 3, seed: 7}\n"))
    with closing(sqlite3.connect("sweep/answers.sqlite")) as base:
        assert base.execute("SELECT seed FROM run").fetchall() == [(7,)]


@given(st.integers(0, 50), st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_each_is_drawn_once(count: int, points: int, seed: int) -> None:
    found = draw(range(count), Drawn(points, seed))
    assert len(found) == min(count, points) and found == sorted(set(found))


def test_chance_is_fair() -> None:
    seen = Counter(each for seed in range(2_000) for each in draw(range(8), Drawn(2, seed)))
    assert all(400 < seen[each] < 600 for each in range(8))  # 500 expected, 19 a standard deviation


@pytest.mark.parametrize(
    ("formula", "value"), [("a / b", Fraction(7, 2)), ("a // b * -1", -3), ("(a + 0.5) % b", Fraction(3, 2)), ("b", 2)]
)
def test_formulas_are_exact(formula: str, value: object) -> None:
    assert evaluate(formula, {"a": 7, "b": 2}) == value


@given(st.text(max_size=30))
def test_any_text_is_a_formula_or_an_error(text: str) -> None:
    with suppress(FormatError):
        evaluate(text, {"a": 1})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parameters: {factor": "parameters: {facto"}, "sweep.yaml:3: '100 / factor / links': there is no 'factor'"),
        ({"{nodes * 4}": "{nodes * shape}"}, "sweep.yaml:3: 'nodes * shape': a text is no number"),
        ({"{nodes * 4}": "{nodes.real}"}, "sweep.yaml:3: 'nodes.real': a formula has names, numbers,"),
        ({"[2, 1]": "[2]"}, "sweep.yaml:2: zip: values that go together are equally many: shape has 2, links has 1"),
        ({"zip: {shape": "zip: {factor: [1, 2], shape"}, "'factor' has values in two places: keep one"),
        ({"[1, 2, 4]": "[]"}, "sweep.yaml:1: factor: no value"),
        ({"[1, 2, 4]": "[.inf]"}, "sweep.yaml:1: factor: expected numbers or texts"),
        ({"{nodes * 4}": "{nodes * 1e999}"}, "sweep.yaml:3: 'nodes * 1e999': a number is too large"),
        ({"{nodes * 4}": "{1e308 * 1e308 / 3}"}, "sweep.yaml:3: '1e308 * 1e308 / 3': a number is too large"),
        ({"{nodes * 4}": "{" + "*".join(["1e99"] * 60) + "}"}, "1e99': a number is too large"),
        ({"parameters: {factor: [1, 2, 4], nodes: 1..4}": "parameters: [1]"}, "expected names with values"),
        ({"model:": "random: {point: 3}\nmodel:"}, "sweep.yaml:7: random: expected {points: N, seed: N}"),
        ({"model:": "random: {points: 0}\nmodel:"}, "sweep.yaml:7: random: points: expected a whole number"),
        ({"model:": "points: [{sise: 1}]\nmodel:"}, "sweep.yaml:7: unknown key 'sise'; did you mean 'size'?"),
        ({"model:": "points: []\nmodel:"}, "sweep.yaml:7: points: expected a list of points"),
        ({"model:": "points: [{models: llama3-8b}, {size: 1}]\nmodel:"}, "some are of jobs, some of collectives"),
        ({"model:": "colums: {x: ratio}\nmodel:"}, "unknown key 'colums'; did you mean 'columns'?"),
        ({"model:": "columns: {x: factr}\nmodel:"}, "sweep.yaml:7: columns: x: 'factr': there is no 'factr'; did"),
        ({"model:": "columns: {x: shape * 2}\nmodel:"}, "columns: x: 'shape * 2': a text is no number"),
        ({"model:": "plots: [{x: factor, y: tim_ps}]\nmodel:"}, "sweep.yaml:7: plots: y: no column 'tim_ps'; did you"),
        ({"model:": "plots: [{x: factor, y: time_ps, kind: hot}]\nmodel:"}, "kind: 'hot'; known: curves, heat, pareto"),
        ({"model:": "plots: [{x: factor, y: time_ps, of: a}]\nmodel:"}, "sweep.yaml:7: unknown key 'of'"),
        ({"model:": "plots: [{x: factor, y: time_ps, kind: heat}]\nmodel:"}, "a heat map needs value"),
        ({"factor": "ratio"}, "'ratio' is another column already: call it something else"),
        ({"model:": "columns: {nodes: links}\nmodel:"}, "sweep.yaml:7: 'nodes' is another column already"),
        ({"{shape}:": "{shape}:0x"}, "sweep.yaml:3: topology: "),
    ],
)
def test_what_is_wrong_is_said_with_its_line_before_anything_runs(change: dict[str, str], message: str) -> None:
    text = SPEC
    for before, after in change.items():
        assert before in text
        text = text.replace(before, after)
    with pytest.raises(FormatError) as error:
        hocket.sweep(write(text))
    assert message in str(error.value)
    assert not Path("sweep").exists()


def test_plans_of_which_none_can_be_are_an_error() -> None:
    spec = "models: llama3-8b\ntopology: dgx-h100:nodes=2\nglobal_batch: 16\nplans: {tp: all, dp: 1}\n"
    with pytest.raises(FormatError, match=r"sweep.yaml:4: nothing to simulate: no plan takes exactly the topology's"):
        hocket.sweep(write(spec))


CURVES = """\
topology: ["ring:8,bandwidth=50GB/s,latency=500ns", "switch:8,bandwidth=50GB/s,latency=500ns"]
collective: [all_reduce, all_to_all]
size: 1KiB..256MiB:4
algorithm: [ring, direct]
model: analytical
"""


def test_the_page_of_collectives_has_both_regimes_and_the_knee() -> None:
    hocket.sweep(write(CURVES))
    page = Path("sweep/report.html").read_text()
    assert "a ring marks the knee" in page and "knee of ring:8,bandwidth=50GB/s,latency=500ns, ring: " in page
    assert page.count("<svg") >= 4 and "collective all_reduce" in page
    assert "10 points: ring does no all_to_all" in page or "20 points: ring does" in page  # those that cannot be


def test_other_columns_are_drawn_also_of_a_sweep_that_was_cut_short() -> None:
    spec = write(CURVES)
    whole = hocket.sweep(spec, output="whole").results
    with closing(sqlite3.connect("whole/answers.sqlite")) as base, base:
        base.execute("DELETE FROM point WHERE key IN (SELECT key FROM asked WHERE number >= 12)")
    drawn = hocket.sweep_plot("whole", x="size_bytes", y="busbw", by="topology,algorithm", log=True).results
    assert drawn["time_ps"].tolist() == whole["time_ps"].tolist()[:12]
    assert "busbw over size_bytes" in Path("plot.html").read_text()
    heat = {"kind": "heat", "x": "size_bytes", "y": "algorithm", "value": "used_algorithm", "output": "heat.html"}
    hocket.sweep_plot("whole", **heat)
    assert "used_algorithm direct" in Path("heat.html").read_text()
    front = {"kind": "pareto", "x": "ratio", "y": "time_ps", "each": "collective", "output": "front.html"}
    hocket.sweep_plot("whole", **front)
    assert "Pareto front" in Path("front.html").read_text()
    with pytest.raises(RequestError, match="no such column; did you mean 'time_ps'"):
        hocket.sweep_plot("whole", x="size_bytes", y="tim_ps")
    with pytest.raises(RequestError, match="x and y are the columns of a figure"):
        hocket.sweep_plot("whole", x="size_bytes")
    with pytest.raises(FormatError, match=r"absent/answers\.sqlite: no such file"):
        hocket.sweep_plot("absent")


def test_a_pareto_front_is_what_none_beats() -> None:
    points = [(1, 9), (2, 5), (3, 6), (4, 4), (4, 5), (5, 4)]
    spec = "zip: {a: [%s], b: [%s]}\ntopology: dgx-h100\ncollective: all_reduce\nsize: 1KiB\nmodel: bound\n"
    listed = [", ".join(str(point[at]) for point in points) for at in (0, 1)]
    plots = "plots: [{kind: pareto, x: a, y: b}]\n"
    hocket.sweep(write(spec % (listed[0], listed[1]) + plots))
    page = Path("sweep/report.html").read_text()
    table = page[page.index("<th") :]
    for a, b in points:
        on_front = f"a {a}\nb {b}" in page
        assert on_front, (a, b)
    assert all(f">{a}</td>" in table for a in (1, 2, 4)) and ">3</td>" not in table
