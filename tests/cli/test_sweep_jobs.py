"""`hocket sweep` over jobs as a user runs it: models by plans, and traces, on machines."""

import csv
import json
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import in_process
import pytest
from browsing import text_of
from sweep_stores import runs_of

COMMAND = [sys.executable, "-m", "hocket", "sweep"]
EXAMPLES = Path(__file__).parents[2] / "examples"
TINY = {
    **{"model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 8, "num_attention_heads": 16},
    **{"intermediate_size": 2816, "vocab_size": 32000, "max_position_embeddings": 1024},
}
MODEL = "tiny/config.json"
SPEC = f"""\
models: {MODEL}
topology: [dgx-h100, "dgx-h100:nodes=2"]
plans: all
zero: [0, 1]
global_batch: 16
"""

ONE_MACHINE = SPEC.replace(', "dgx-h100:nodes=2"', "")

hocket = partial(in_process.hocket)
run = partial(hocket, "sweep")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a small model is, the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny").mkdir()
    (tmp_path / MODEL).write_text(json.dumps(TINY))
    return tmp_path


def rows_of(out: Path | str) -> list[dict[str, str]]:
    with (Path(out) / "results.csv").open(encoding="utf-8") as table:
        return list(csv.DictReader(table))


def swept(spec: str, out: str = "swept") -> tuple[str, list[dict[str, str]]]:
    """What the sweep says, and its rows."""
    Path("jobs.yaml").write_text(spec)
    done = run("jobs.yaml", "-o", out)
    assert done.returncode == 0, done.stderr
    return done.stdout, rows_of(out)


@pytest.mark.usefixtures("folder")
def test_all_plans_of_two_machines() -> None:
    said, rows = swept(SPEC)
    # tp 1, 2, 4, 8 by pp: 4 + 3 + 2 + 1 plans of 8 ranks, 5 + 4 + 3 + 2 of 16; each with two stages of ZeRO.
    assert len(rows) == 48 and "48 points: 46 simulated, 2 skipped (2 impossible plans)" in said
    alike = {bool("chunk by chunk on the links" in row["assumed"]) for row in rows if row["topology"] == "dgx-h100"}
    assert ("20 points of tiny/config.json on dgx-h100 are not simulated alike:" in said) == (len(alike) > 1)
    assert all(
        int(row["tp"]) * int(row["pp"]) * int(row["dp"]) == (16 if "2" in row["topology"] else 8) for row in rows
    )
    skipped = [row for row in rows if row["skipped"]]
    assert {(row["pp"], row["because"]) for row in skipped} == {("16", "plan")}
    assert all("8 layers are too few for pp 16" in row["skipped"] for row in skipped)
    for row in rows:
        if not row["skipped"]:
            parts = sum(int(row[f"{name}_ps"]) for name in ("computation", "exposed", "bubble", "skew"))
            assert parts == pytest.approx(int(row["step_ps"]), abs=8)
            assert int(row["step_ps"]) >= int(row["bound_ps"]) > 0
            assert float(row["tokens_per_second"]) == pytest.approx(16 * 1024 / int(row["step_ps"]) * 1e12)
            exposed = [int(value) for name, value in row.items() if name.startswith("exposed_ps: ")]
            assert sum(exposed) == pytest.approx(int(row["exposed_ps"]), abs=4)
    for topology in ("dgx-h100", "dgx-h100:nodes=2"):
        machine = [row for row in rows if row["topology"] == topology and not row["skipped"]]
        pareto = {row["point"] for row in machine if row["pareto"] == "1"}
        # None of the others is both faster and smaller than one of the set; each that is not is beaten by one that is.
        for row in machine:
            beaten = any(
                other["point"] in pareto
                and int(other["step_ps"]) <= int(row["step_ps"])
                and int(other["memory_bytes"]) <= int(row["memory_bytes"])
                and other is not row
                for other in machine
            )
            assert beaten != (row["point"] in pareto)
        fastest = min(machine, key=lambda row: (int(row["step_ps"]), int(row["memory_bytes"])))
        assert re.search(rf"^ *{fastest['point']}  .*{re.escape(topology)} ", said, re.MULTILINE)


@pytest.mark.usefixtures("folder")
def test_a_point_is_what_its_two_commands_say() -> None:
    _, rows = swept(f"models: {MODEL}\ntopology: dgx-h100\nplans: {{tp: 2, pp: 2, zero: 1, global_batch: 8}}\n")
    made = ["--tp", 2, "--pp", 2, "--dp", 2, "--zero", 1, "--global-batch", 8, "-t", "dgx-h100", "-o", "made"]
    assert hocket("generate", "llm", MODEL, *made).returncode == 0
    form = json.loads(hocket("step", "made", "-t", "dgx-h100", "--no-what-if", "--json", "-").stdout)
    (row,) = rows
    assert int(row["step_ps"]) == form["step_ps"] and int(row["bound_ps"]) == form["bound_ps"]
    assert float(row["tokens_per_second"]) == form["tokens_per_second"]
    assert float(row["model_flops_utilisation"]) == form["model_flops_utilisation"]
    assert float(row["tokens_per_second_a_rank"]) == form["tokens_per_second"] / 8 and row["ranks"] == "8"
    assert int(row["memory_bytes"]) == max(form["memory_bytes"])
    means = {(part["activity"], part["dimension"]): part["mean_ps"] for part in form["parts"]}
    assert int(row["computation_ps"]) == round(means["computation", ""])
    assert int(row["exposed_ps: TP"]) == round(means["exposed communication", "TP"])
    assert int(row["bubble_ps"]) == round(means["bubble", ""])
    with closing(sqlite3.connect("swept/answers.sqlite")) as base:
        kept = json.loads(base.execute("SELECT answer FROM point").fetchone()[0])
    assert [part["mean_ps"] for part in kept["parts"]] == [part["mean_ps"] for part in form["parts"]]
    dimensions = {row["dimension"]: row for row in form["dimensions"]}
    for each in kept["dimensions"]:
        assert each["communication_ps"] * 8 == pytest.approx(dimensions[each["dimension"]]["communication_ps"])
    page = text_of(Path("swept/report.html").read_text())
    assert f"hocket generate llm {MODEL} --output traces --topology dgx-h100 --global-batch 8 --tp 2 --pp 2" in page
    assert "hocket step traces --topology dgx-h100" in page


@pytest.mark.usefixtures("folder")
def test_plans_that_cannot_be_and_plans_that_do_not_fit_are_rows_with_a_reason() -> None:
    spec = "models: llama3-70b\ntopology: dgx-h100\nglobal_batch: 8\nsequence: 512\n"
    plans = "plans:\n  - {tp: 3}\n  - {tp: 8, pp: 2}\n  - {tp: 2, micro_batch: 3}\n  - {tp: 8}\n"
    said, rows = swept(f"{spec}{plans}")
    assert [row["because"] for row in rows] == ["plan", "plan", "plan", "memory"]
    assert "tp * pp * cp = 3 does not divide the 8 ranks of dgx-h100" in rows[0]["skipped"]
    assert "tp * pp * cp = 16 does not divide the 8 ranks" in rows[1]["skipped"]
    assert "dp 4 * micro-batch 3 must divide the global batch 8" in rows[2]["skipped"]
    assert re.fullmatch(r"a rank needs 151.4 GiB, and h100 has 74.51 GiB", rows[3]["skipped"])
    assert int(rows[3]["memory_bytes"]) > int(rows[3]["capacity_bytes"]) and rows[3]["step_ps"] == "-1"
    assert "4 points: 0 simulated, 4 skipped (3 impossible plans, 1 over the memory)" in said
    assert Path("swept/report.html").exists()

    said, rows = swept(f"{spec}over_memory: simulate\nplans: {{tp: 8}}\n", "asked")
    assert "1 point: 1 simulated (1 of them over their memory)" in said
    assert rows[0]["fits"] == "0" and int(rows[0]["step_ps"]) > 0 and rows[0]["pareto"] == "0"
    assert "TOO MUCH" in Path("asked/report.html").read_text()


@pytest.mark.usefixtures("folder")
def test_experts_context_and_what_is_given_are_all_taken() -> None:
    spec = "models: mixtral-8x7b\ntopology: dgx-h100:nodes=2\nglobal_batch: 16\nsequence: 512\nover_memory: skip\n"
    _, rows = swept(f"{spec}plans: {{tp: 1, pp: 2, cp: all, ep: all}}\n")
    # dp * cp are 8 in 4 ways, and ep divides both these and the 8 experts: 4 ways.
    assert sorted((int(row["cp"]), int(row["ep"])) for row in rows) == [
        (cp, ep) for cp in (1, 2, 4, 8) for ep in (1, 2, 4, 8)
    ]
    _, rows = swept(f"{spec}plans: {{tp: all, dp: 4, pp: all}}\n", "given")
    assert [(row["tp"], row["pp"]) for row in rows] == [("1", "4"), ("2", "2"), ("4", "1")]


@pytest.mark.usefixtures("folder")
def test_traces_beside_models_and_algorithms() -> None:
    made = ["--tp", 2, "--pp", 2, "--dp", 2, "--global-batch", 8, "-t", "dgx-h100"]
    assert hocket("generate", "llm", MODEL, *made, "-o", "made").returncode == 0
    spec = f"models: {MODEL}\ntraces: [made]\ntopology: dgx-h100\nalgorithm: [library, auto]\n"
    _, rows = swept(f"{spec}plans: {{tp: 2, pp: 2, global_batch: 8}}\n")
    assert [(row["model"], row["traces"], row["algorithm"]) for row in rows] == [
        *((MODEL, "", algorithm) for algorithm in ("library", "auto")),
        *(("", "made", algorithm) for algorithm in ("library", "auto")),
    ]
    assert [row["step_ps"] for row in rows[:2]] == [row["step_ps"] for row in rows[2:]]
    assert rows[0]["step_ps"] != rows[1]["step_ps"]
    assert "algorithm auto" in run("jobs.yaml", "-o", "swept").stdout

    _, rows = swept(f"traces: ['{EXAMPLES / 'traces'}']\ntopology: 'ring:4,bandwidth=50GB/s,latency=500ns'\n", "own")
    assert int(rows[0]["skew_ps"]) > 0 and rows[0]["tokens_per_second"] == "nan" and rows[0]["memory_bytes"] == "0"


@pytest.mark.parametrize("options", [[], ["--executor", "local", "--jobs", "2"]])
def test_an_interrupted_sweep_goes_on_and_ends_as_if_nothing_had_been(folder: Path, options: list[str]) -> None:
    (folder / "jobs.yaml").write_text(ONE_MACHINE)
    answers = folder / "cut" / "answers.sqlite"
    command = [*COMMAND, "jobs.yaml", "-o", "cut", *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and len(runs_of(answers)) < 3:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.fullmatch(r"\d+ of 20 points done; run the same command to go on\n", said)
    kept = runs_of(answers)
    assert 3 <= len(kept) < 20 and not (folder / "cut" / "results.csv").exists()

    second = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert second.returncode == 0, second.stderr
    left = {"answers.sqlite", "lock", "report.html", "results.csv"}
    assert {path.name for path in (folder / "cut").iterdir()} == left
    ended = runs_of(answers)
    assert len(ended) == 20 and ended.items() >= kept.items()  # nothing was simulated twice
    assert run("jobs.yaml", "-o", "whole").returncode == 0
    for name in ("results.csv", "report.html"):
        cut, whole = ((folder / each / name).read_text() for each in ("cut", "whole"))
        assert _without_provenance(cut) == _without_provenance(whole)


def _without_provenance(text: str) -> str:
    """A page without what is of the run: how it was made, and the request."""
    return re.sub(r'<section id="sprovenance".*', "", text, flags=re.DOTALL)


@pytest.mark.usefixtures("folder")
def test_only_what_has_changed_is_simulated_again() -> None:
    spec = f"models: {MODEL}\ntopology: dgx-h100\nglobal_batch: 8\nplans: {{tp: 2, pp: [1, 2]}}\n"
    answers = Path("swept/answers.sqlite")
    numbers = []
    for text in (spec, spec, spec.replace("[1, 2]", "[1, 2, 4]"), spec.replace("global_batch: 8", "global_batch: 16")):
        swept(text)
        numbers.append(len(runs_of(answers)))
    assert numbers == [2, 2, 3, 5]
    Path("traces").mkdir()  # the commands of a point are of such a folder; the sweep does not read it
    Path("traces/x.txt").write_text("x")
    assert swept(spec) and len(runs_of(answers)) == 5
    Path(MODEL).write_text(json.dumps(TINY | {"num_hidden_layers": 4}))
    assert swept(spec) and len(runs_of(answers)) == 7


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"modles": "llama3-8b"}, "jobs.yaml:5: unknown key 'modles'; did you mean 'models'? known: "),
        ({"models": "llama3-80b"}, "jobs.yaml:1: models: llama3-80b: no such model or config.json; did you mean"),
        ({"models": []}, "jobs.yaml:1: models: no value: give one or a list, or drop the key"),
        ({"plans": []}, "jobs.yaml:3: plans: no value: give one or a list, or drop the key"),
        ({"plans": "every"}, "jobs.yaml:3: plans: 'every': expected all, or options such as {tp: 8, pp: [1, 2, 4]}"),
        ({"plans": {"zerro": 1}}, "jobs.yaml:3: unknown key 'zerro' of a plan; did you mean 'zero'? known: "),
        ({"plans": {"tp": []}}, "jobs.yaml:3: tp: no value: give one or a list"),
        ({"plans": {"tp": "eight"}}, "jobs.yaml:3: tp: generate llm: tp: expected int, got text"),
        ({"plans": {"tp": "8..1"}}, "jobs.yaml:3: tp: '8..1': expected"),
        (
            {"plans": [{"tp": 8}, {"schedule": "1f1c"}]},
            "jobs.yaml:3: schedule: --schedule 1f1c: no such choice;",
        ),
        ({"global_batch": None}, "jobs.yaml:4: global_batch: no value"),
        ({"topology": "dgx-h1000"}, "jobs.yaml:2: topology: "),
        ({"topology": None}, "jobs.yaml:2: topology: no value"),
        (
            {"model": "llama3-8b"},
            "jobs.yaml:5: model: 'llama3-8b' is no network model: name what is trained under models",
        ),
        ({"model": "bound"}, "jobs.yaml:5: model: bound has no waits to divide"),
        ({"algorithm": "rign"}, "jobs.yaml:5: algorithm: 'rign'; did you mean 'ring'?"),
        ({"chunks": 2}, "jobs.yaml:5: chunks: write it into a plan"),
        ({"over_memory": "maybe"}, "jobs.yaml:5: over_memory: 'maybe'; known: simulate, skip"),
        ({"traces": ["nowhere"]}, "jobs.yaml:5: traces: nowhere: "),
        ({"accelerator": "h1000"}, "jobs.yaml:5: accelerator: "),
        ({"compute_scale": [[]]}, "jobs.yaml:5: compute_scale: "),
    ],
)
def test_a_wrong_file_is_one_error_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    content = {"models": "llama3-8b", "topology": "dgx-h100", "plans": "all", "global_batch": 8} | change
    Path("jobs.yaml").write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in content.items()))
    done = run("jobs.yaml")
    assert done.returncode == 3
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not Path("sweep").exists()


def test_plans_need_models_and_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for text, message in (
        ("topology: dgx-h100\nplans: all\n", "jobs.yaml:2: plans are of models: name some under the key models"),
        ("models: llama3-8b\nplans: all\n", "jobs.yaml:1: topology is missing: where the jobs run"),
        ("models: llama3-8b\ntopology: dgx-h100\nplans:\n  - {tp: 8}\n", "jobs.yaml:4: global_batch is missing"),
        ("topology: dgx-h100\n", "collective is missing; a sweep over jobs has topology and models, or traces"),
    ):
        Path("jobs.yaml").write_text(text)
        done = run("jobs.yaml")
        assert done.returncode == 3 and message in done.stderr


@pytest.mark.usefixtures("folder")
def test_answers_of_another_sort_of_sweep_are_not_taken() -> None:
    Path("sweep.yaml").write_text("topology: dgx-h100\ncollective: all_reduce\nsize: 1KiB\n")
    assert run("sweep.yaml", "-o", "both").returncode == 0
    Path("jobs.yaml").write_text(SPEC)
    done = run("jobs.yaml", "-o", "both")
    assert done.returncode == 3 and "both/answers.sqlite: not the answers of such a sweep" in done.stderr


def test_the_example(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, EXAMPLES / "sweep_jobs.yaml", "-o", tmp_path, "--executor", "local", "--jobs", "2"],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert "the fastest of each model on each topology:" in done.stdout
    rows = rows_of(tmp_path)
    assert {row["because"] for row in rows} == {"", "memory"}
    assert sum(not row["skipped"] for row in rows) > 15
