"""What `hocket step` says of other choices: whose collectives, which links, which plans; each a simulation."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from in_process import hocket

from hocket.api.simulate.job import of
from hocket.api.simulate.perform import question_of
from hocket.api.simulate.request import Simulation
from hocket.api.step.networks import networks
from hocket.api.step.request import StepReport
from hocket.api.step.result import StepResult
from hocket.chakra import CollectiveType, TraceBuilder, TraceSet, read_traces, write_traces
from hocket.simulator.analysis import step_shares
from hocket.simulator.analysis.dimensions import purposes_of_groups
from hocket.topology import load

#: Layers as wide as those of Llama 3 8B, and of Mixtral 8x7B, but few of them.
LAYERS = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 6,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
}
EXPERTS = LAYERS | {"model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2}


def generated(folder: Path, topology: str, *plan: str) -> Path:
    folder.parent.mkdir(exist_ok=True)
    config = folder.parent / f"{folder.name}.json"
    config.write_text(json.dumps(EXPERTS if "--ep" in plan else LAYERS))
    made = hocket("generate", "llm", config, "--sequence", "512", *plan, "-t", topology, "-o", folder)
    assert made.returncode == 0, made.stderr
    return folder


def step(traces: Path, topology: str, *more: str) -> dict[str, Any]:
    made = hocket("step", traces, "-t", topology, *more, "--json", "-")
    assert made.returncode == 0, made.stderr
    form: dict[str, Any] = json.loads(made.stdout)
    return form


@pytest.fixture(scope="module")
def llm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    plan = ["--tp", "4", "--dp", "2", "--zero", "1", "--global-batch", "4"]
    return generated(tmp_path_factory.mktemp("llm") / "traces", "dgx-h100", *plan)


class Heard:
    """What is told while it goes on."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, line: str) -> None:
        self.said.append(f"say {line}")

    def note(self, line: str) -> None:
        self.said.append(f"note {line}")

    def count(self, done: int, of: int, what: str) -> None:
        self.said.append(f"count {done}")

    def status(self, line: str) -> None:
        self.said.append(f"status {line}")


class Made(NamedTuple):
    """What a step report said while it was made, and what it came to."""

    said: list[str]
    result: StepResult


@pytest.fixture(scope="module")
def made(llm: Path) -> Made:
    heard = Heard()
    result = StepReport.of(traces=str(llm), topology="dgx-h100", synthesize=True).perform(heard)
    assert isinstance(result, StepResult)
    return Made(heard.said, result)


def test_of_three_stages_the_other_plan_has_one(tmp_path: Path) -> None:
    traces = generated(tmp_path / "three", "dgx-h100:gpus=6", "--pp", "3", "--dp", "2", "--global-batch", "12")
    form = step(traces, "dgx-h100:gpus=6")
    tried = {row["name"] for row in (*form["what_ifs"], *form["not_tried"])}
    assert "pp 1, dp 6" in tried


def test_uneven_experts_are_not_compared(tmp_path: Path) -> None:
    plan = ["--dp", "4", "--ep", "4", "--zero", "1", "--global-batch", "4", "--expert-skew", "zipf:1"]
    form = step(generated(tmp_path / "experts", "dgx-h100:gpus=4", *plan), "dgx-h100:gpus=4")
    why = {row["name"]: row["why"] for row in form["not_tried"]}["every rank as fast as the median of those alike"]
    assert why.startswith(
        "4 ranks do the same nodes as others with other amounts, as where experts are chosen unevenly"
    )


def test_uneven_experts_of_tensor_parallel_ranks_are_not_compared_and_may_do_without(tmp_path: Path) -> None:
    plan = ["--tp", "2", "--sequence-parallel", "--ep", "2", "--dp", "2", "--zero", "1", "--global-batch", "4"]
    traces = generated(tmp_path / "experts", "dgx-h100:gpus=4", *plan, "--expert-skew", "zipf:1")
    form = step(traces, "dgx-h100:gpus=4")
    why = {row["name"]: row["why"] for row in form["not_tried"]}
    assert "4 ranks do the same nodes" in why["every rank as fast as the median of those alike"]
    assert "tp 1, dp 4" in {row["name"] for row in form["what_ifs"]}


def test_all_changes_are_of_the_step_as_asked_for_and_those_that_gain_nothing_share_a_line(made: Made) -> None:
    form, text = made.result.as_json(), made.result.summary()
    assert {row["from_ps"] for row in form["what_ifs"]} == {form["time_ps"]}
    nothing = [row["name"] for row in form["what_ifs"] if abs(row["gain"]) <= 1e-3]
    assert text.count("no gain: ") == bool(nothing) and " -0.0%" not in text and " +0.0%" not in text
    assert max(map(len, text.splitlines())) <= 118


def test_faster_links_save_what_simulating_them_says(llm: Path, made: Made) -> None:
    graph = "fully_connected:8,bandwidth=50GB/s,latency=1us"
    row = {row["name"]: row for row in step(llm, graph)["what_ifs"]}["the network twice as fast"]
    again = json.loads(hocket("simulate", llm, "-t", graph.replace("50GB", "100GB"), "--json", "-").stdout)
    assert row["of"] == "as asked" and row["to_ps"] == again["time_ps"]
    row = {row["name"]: row for row in made.result.as_json()["what_ifs"]}["the network twice as fast"]
    assert row["of"] == "what native algorithms save" and row["to_ps"] < row["from_ps"]
    assert "the network twice as fast (what native algorithms save)" in made.result.summary()


@pytest.mark.parametrize(
    "topology,more,first,second",
    [
        ("dgx-h100", [], "the stock library", "native algorithms, the fastest on its links"),
        ("dgx-h100", ["--library", "none"], "native algorithms, rings and direct messages", "native algorithms, the"),
        (
            "ring:8,bandwidth=50GB/s,latency=1us",
            [],
            "native algorithms, rings and direct messages",
            "native algorithms",
        ),
        ("dgx-h100", ["--algorithm", "all_reduce=ring"], "the stock library and the algorithms asked for", "native"),
        ("mi300x", [], "native algorithms, the fastest on its links", "the bound"),
        ("dgx-h100", ["--algorithm", "auto"], "native algorithms, the fastest on its links", "the bound"),
    ],
)
def test_the_stock_library_is_named_where_it_runs(
    llm: Path, topology: str, more: list[str], first: str, second: str
) -> None:
    names = [row["name"] for row in step(llm, topology, *more, "--no-what-if")["contenders"]]
    assert names[0] == first and names[1].startswith(second) and names[-1] == "the bound"


def test_native_messages_are_launched_as_the_librarys(tmp_path: Path) -> None:
    """A pipeline alone, which has no collective: both contenders send the same messages."""
    plan = ["--pp", "4", "--global-batch", "8", "--micro-batch", "1"]
    traces = generated(tmp_path / "pipeline", "dgx-h100:gpus=4", *plan)
    form = step(traces, "dgx-h100:gpus=4", "--no-what-if")
    assert [row["dimension"] for row in form["dimensions"]] == ["PP"]
    stock, native, _ = (row["time_ps"] for row in form["contenders"])
    assert stock == native


def test_synthesized_programs_stand_beside_the_others(made: Made) -> None:
    form = made.result.as_json()
    rows = {row["name"]: row for row in form["what_ifs"] if row["name"].startswith("synthesized ")}
    assert "synthesized all_reduce of TP (4 ranks)" in rows and len(rows) == 3
    whole = {row["name"]: row["time_ps"] for row in form["contenders"]}[
        "synthesized where they gain, else as the first"
    ]
    assert form["bound_ps"] <= whole <= min(form["time_ps"], *(row["to_ps"] for row in rows.values()))


def test_what_is_too_large_to_synthesize_for_is_said(tmp_path: Path) -> None:
    plan = ["--dp", "264", "--global-batch", "264"]
    traces = generated(tmp_path / "wide", "dgx-h100:nodes=33", *plan)
    form = step(traces, "dgx-h100:nodes=33", "--no-what-if", "--synthesize")
    why = {row["name"]: row["why"] for row in form["not_tried"]}
    assert "a group of 264 ranks, more than 256" in why["synthesized all_reduce of DP (264 ranks)"]


def test_the_tables_are_said_before_the_what_ifs_and_each_of_these_is_announced(made: Made) -> None:
    whole = next(at for at, line in enumerate(made.said) if line.startswith("say whole"))
    first = next(at for at, line in enumerate(made.said) if line.startswith("status "))
    assert whole < first
    tried = [line for line in made.said if line.startswith("status what if: ")]
    assert tried[-1].endswith(f"({len(tried)} of {len(tried)})")
    said = "\n".join(line.removeprefix("say ") for line in made.said if line.startswith("say "))
    assert f"{said}\n{made.result.rest()}" == made.result.summary()


@pytest.mark.parametrize(
    "topology,inside", [("dgx-h100:nodes=2", {"nvlink"}), ("dgx-1:nodes=2", {"nvlink"}), ("dgx-h100", None)]
)
def test_what_is_inside_nodes_is_what_all_their_ranks_use(topology: str, inside: set[str] | None) -> None:
    found = load(topology)
    made = [*networks(found)]
    if inside is None:
        assert [name for name, _ in made] == ["the network"] and made[0][1].all()
        return
    within = made[0][1]
    assert {found.classes[at] for at in set(found.link_class[within].tolist())} == inside
    assert (within ^ made[1][1]).all()


def test_parts_of_any_generated_job_add_up(llm: Path, tmp_path: Path) -> None:
    plans = [
        ["--tp", "2", "--pp", "2", "--dp", "2", "--schedule", "interleaved", "--chunks", "2", "--global-batch", "8"],
        ["--cp", "2", "--dp", "2", "--tp", "2", "--zero", "3", "--global-batch", "4", "--context", "ring"],
        ["--dp", "8", "--ep", "4", "--zero", "1", "--global-batch", "8", "--expert-skew", "zipf:1"],
    ]
    for number, plan in enumerate(plans):
        traces = read_traces(generated(tmp_path / str(number), "dgx-h100", *plan))
        for topology in ("dgx-h100", "ring:8,bandwidth=50GB/s,latency=1us"):
            job = of(question_of(Simulation.of(what=".", topology=(topology,)), Heard()), traces)
            prediction = job.on(topology)
            shares = step_shares(prediction, traces.groups, purposes_of_groups(traces))
            assert (shares.times_ps >= 0).all()
            assert (shares.times_ps.sum(axis=0) == prediction.time_ps).all()


def test_a_faster_host_is_no_faster_computation(tmp_path: Path) -> None:
    """Ranks whose device waits 3 us for the host, computes 2 us and sums up: the host's tenth is 0.3 us."""
    traces = []
    for _ in range(2):
        builder = TraceBuilder()
        host = builder.add_comp("host", duration_ns=3_000)
        work = builder.add_comp("gemm", duration_ns=2_000, deps=[host])
        builder.add_collective("sum", CollectiveType.ALL_REDUCE, 1_000, deps=[work])
        traces.append(builder.build())
    write_traces(tmp_path / "traces", TraceSet(tuple(traces)))
    form = step(tmp_path / "traces", "ring:2,bandwidth=1GB/s,latency=1us")
    saved = {row["name"]: row["from_ps"] - row["to_ps"] for row in form["what_ifs"]}
    assert saved["computation 10 % faster"] == 200_000 and saved["the host 10 % faster"] == 300_000
