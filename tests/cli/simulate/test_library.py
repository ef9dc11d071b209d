"""What `hocket simulate` runs where nothing is said of algorithms: the machine's stock library."""

import json
from functools import partial
from pathlib import Path

import in_process
import pytest

from hocket.nccl import NcclModel
from hocket.topology.machines.loading import load_machine

hocket = partial(in_process.hocket, "simulate")
TWO = "dgx-h100:nodes=2"
RING = "ring:8,bandwidth=50GB/s,latency=500ns"


def out(*arguments: object) -> str:
    done = hocket(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_collective_takes_the_time_of_the_library_s_model(tmp_path: Path) -> None:
    path = tmp_path / "curve.json"
    text = out("all_reduce", "-t", TWO, "-s", "8..1GiB:8", "--json", path)
    assert text.startswith("assumed: NCCL 2.30.7 on 2 x dgx-h100 of 8 GPUs, NVSwitches compute\n")
    rows = json.loads(path.read_text())["curves"][0]["rows"]
    model = NcclModel(load_machine("dgx-h100"), 2).choose("AllReduce", rows["size_bytes"])
    assert rows["time_ps"] == [round(1e6 * float(time)) for time in model.time_us]
    assert rows["used_algorithm"] == [f"NCCL's model {model.name(at)}" for at in range(len(model.bytes))]
    assert all(ratio >= 1 for ratio in rows["ratio"])


def test_none_gives_the_pure_network() -> None:
    pure, auto = (
        out("all_reduce", "-t", TWO, "-s", "64MiB", *more) for more in (["--library", "none"], ["--algorithm", "auto"])
    )
    assert pure.startswith("assumed: no library, as asked")
    assert pure.split("\n", 1)[1] == auto


def test_networks_without_a_modelled_library_say_so() -> None:
    assert out("all_reduce", "-t", RING, "-s", "1MiB").startswith(
        "assumed: no library (the topology is of no single kind"
    )
    assert out("all_reduce", "-t", "mi300x", "-s", "1MiB").startswith("assumed: no library (RCCL, not modelled): ")


@pytest.mark.parametrize("option", [["--degrade", "npu:3=0.5"], ["--model", "flow"]])
def test_what_is_asked_of_links_runs_chunk_by_chunk(option: list[str]) -> None:
    text = out("all_reduce", "-t", TWO, "-s", "16MiB", *option)
    assert "chunk by chunk on the links: about" in text and "NCCL NVLSTree/Simple" in text


def test_messages_take_a_launch_and_a_step(tmp_path: Path) -> None:
    path, times = tmp_path / "prediction.json", []
    for more in (["--algorithm", "direct"], []):
        out("all_to_all", "-t", "dgx-b200", "-s", "1KiB", "--json", path, *more)
        times.append(json.loads(path.read_text())["time_ps"])
    assert times[1] - times[0] == 6_600_000 + 600_000  # LL: launch, and a step over NVLink


def test_a_job_is_simulated_chunk_by_chunk_while_it_is_small(tmp_path: Path) -> None:
    for size, way in (("1MiB", "chunk by chunk on the links"), ("64GiB", "more than 1,048,576")):
        traces = tmp_path / size
        done = in_process.hocket("generate", "collective", "all_reduce", "--ranks", 16, "--size", size, "-o", traces)
        assert done.returncode == 0, done.stderr
        assert way in out(traces, "-t", TWO)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-t", TWO, "--library", "none", "--algorithm", "nccl"], "--library none runs no library"),
        (["-t", TWO, "--library", "none", "--nccl-set", "NCCL_ALGO=Ring"], "--library none runs no library"),
        (["-t", TWO, "--library", "nccl", "--algorithm", "ring"], "drop one of them"),
        (["-t", TWO, "--chunks", "2"], "--chunks 2 is for native algorithms"),
        (["-t", RING, "--library", "nccl"], "does not say what NCCL would see"),
        (["-t", TWO, "--library", "rccl"], "rccl"),
    ],
)
def test_what_contradicts_the_library_is_refused(arguments: list[str], message: str) -> None:
    done = hocket("all_reduce", "-s", "1MiB", *arguments)
    assert done.returncode in (2, 3)
    assert message in " ".join(done.stderr.split())
