"""What computes: the machine's accelerator, another that is named, or the one that the traces are of."""

import json
from pathlib import Path
from typing import Any

import pytest
from in_process import hocket

from hocket.chakra import TraceBuilder, TraceSet, read_traces, write_traces
from hocket.workload.accelerators import ACCELERATORS

B200 = "dgx-b200"
GRAPH = "ring:8,bandwidth=1GB/s,latency=1us"


def simulated(*arguments: object) -> dict[str, Any]:
    """The prediction, as --json writes it."""
    done = hocket("simulate", *arguments, "--json", "-")
    assert done.returncode == 0, done.stderr
    text: str = done.stdout
    return json.loads(text[text.index("{") : text.rindex("}") + 1])


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A step of training as two accelerators are priced."""
    found = {}
    for name in ("h100", "b200"):
        found[name] = tmp_path_factory.mktemp(name)
        made = hocket(
            "generate", "llm", "llama3-8b", "--dp", 8, "--zero", 3, "--global-batch", 8, "--accelerator", name, "-o",
            found[name],
        )  # fmt: skip
        assert made.returncode == 0, made.stderr
    return found


def job(folder: Path, metadata: dict[str, object], *nodes: tuple[int, int, int]) -> Path:
    """A rank that computes nodes of so many operations, bytes and nanoseconds, 0: none; the other seven do nothing."""
    first, rest = TraceBuilder(metadata), TraceBuilder()
    for num_ops, num_bytes, duration in nodes:
        first.add_comp("work", num_ops=num_ops, tensor_bytes=num_bytes, duration_ns=duration)
    write_traces(folder / "job", TraceSet((first.build(), *[rest.build()] * 7)))
    return folder / "job"


def test_traces_say_what_priced_them(steps: dict[str, Path]) -> None:
    metadata = read_traces(steps["b200"]).traces[0].metadata
    assert (metadata["accelerator"], metadata["precision"]) == ("b200", "bf16")


def test_a_machine_prices_what_another_was_priced_for(steps: dict[str, Path]) -> None:
    own = simulated(steps["b200"], "-t", B200)
    other = simulated(steps["h100"], "-t", B200)
    again = simulated(steps["h100"], "-t", B200, "--reprice")
    assert not [note for note in own["notes"] if "priced" in note]
    assert other["notes"] == ["computation is priced as h100, and this is b200: --reprice prices it as b200"]
    assert again["notes"] == []
    assert other["time_ps"] > 2 * own["time_ps"]
    # A node is several kernels: the ratio of their sum's rooflines is not quite that of each.
    assert again["time_ps"] == pytest.approx(own["time_ps"], rel=0.01)
    assert simulated(steps["b200"], "-t", B200, "--reprice")["time_ps"] == own["time_ps"]
    assert simulated(steps["h100"], "-t", "dgx-h100")["notes"] == []


def test_an_accelerator_that_prices_nothing_is_noted(steps: dict[str, Path], tmp_path: Path) -> None:
    alone = simulated(steps["h100"], "-t", "dgx-h100", "--accelerator", "b200")
    assert alone["notes"] == [
        "computation is priced as h100, and --accelerator b200 prices nothing that has a duration: --reprice prices it"
        " as b200"
    ]
    half = simulated(steps["h100"], "-t", "dgx-h100", "--accelerator", "h100,efficiency=0.4")
    assert "computation is priced as h100, and --accelerator h100,efficiency=0.4 prices nothing" in half["notes"][0]
    both = simulated(steps["h100"], "-t", "dgx-h100", "--accelerator", "b200", "--reprice")
    assert both["notes"] == ["computation is priced as b200, as --accelerator says, and this is h100"]
    unknown = job(tmp_path, {}, (10**12, 0, 10**6))
    assert simulated(unknown, "-t", GRAPH, "--accelerator", "b200")["notes"] == [
        "--accelerator b200 prices nothing: all computations have recorded durations; --reprice prices those of known"
        " operations"
    ]


def test_a_recorded_gpu_keeps_the_part_of_the_peak_that_it_reached(tmp_path: Path) -> None:
    # Bound by operations, by bytes, and of unknown work.
    recorded = job(
        tmp_path, {"gpu": "NVIDIA H100 80GB HBM3"}, (10**12, 0, 3_000_000), (0, 10**9, 500_000), (0, 0, 7_000)
    )
    kept = simulated(recorded, "-t", B200)
    assert kept["time_ps"] == (3_000_000 + 500_000 + 7_000) * 1000
    assert kept["notes"] == [
        "computation was recorded on NVIDIA H100 80GB HBM3, and this is b200: --reprice prices it as b200"
    ]
    found = simulated(recorded, "-t", B200, "--reprice")
    h100, b200 = ACCELERATORS["h100"], ACCELERATORS["b200"]
    expected = 7_000_000 + sum(
        time * 1000 * b200.time_ps(*work) / h100.time_ps(*work)
        for time, work in ((3_000_000, (10**12, 0)), (500_000, (0, 10**9)))
    )
    assert found["time_ps"] == pytest.approx(expected, abs=2)
    assert found["notes"] == ["1 computations keep their recorded durations: their operations are not known"]


def test_work_without_a_duration_is_the_machines(tmp_path: Path) -> None:
    work = job(tmp_path, {}, (10**12, 0, 0))
    priced = simulated(work, "-t", B200)
    assert priced["time_ps"] == ACCELERATORS["b200"].time_ps(10**12, 0)
    assert priced["notes"] == [
        "computation without a duration is priced as b200, the machine's; --accelerator says otherwise"
    ]
    free = simulated(work, "-t", B200, "--accelerator", "none")
    assert free["time_ps"] == 0
    assert "1 computations have operations or bytes but no duration and take no time" in free["notes"][0]
    graph = simulated(work, "-t", GRAPH)
    assert graph["notes"] == free["notes"]


def test_an_accelerator_without_the_precision_is_refused(tmp_path: Path) -> None:
    work = job(tmp_path, {"accelerator": "h100", "precision": "fp8"}, (10**12, 0, 10**6))
    refused = hocket("simulate", work, "-t", "dgx-a100", "--reprice")
    assert refused.returncode != 0
    assert "a100 has no fp8; it has bf16, fp16" in refused.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-t", GRAPH, "--reprice"), f"{GRAPH} has no accelerator, name it with --accelerator"),
        (("-t", B200, "--reprice", "--accelerator", "none"), "--reprice needs an accelerator"),
    ],
)
def test_repricing_needs_an_accelerator(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    refused = hocket("simulate", job(tmp_path, {}, (10**12, 0, 1)), *options)
    assert refused.returncode == 2
    assert message in refused.stderr


@pytest.mark.parametrize(
    "said", [{"accelerator": "h1000"}, {"accelerator": 3}, {"gpu": "x" * 50}, {"precision": "\x1b[2J"}]
)
def test_strange_words_of_traces_stay_words(tmp_path: Path, said: dict[str, object]) -> None:
    work = job(tmp_path, said, (10**12, 0, 10**6))
    for options in ((), ("--reprice",)):
        done = hocket("simulate", work, "-t", B200, *options)
        assert done.returncode == 0, done.stderr
        assert "\x1b" not in done.stdout
