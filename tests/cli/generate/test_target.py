"""`hocket generate ... --topology MACHINE`: priced by what computes there, and of as many ranks."""

from pathlib import Path

import pytest
from in_process import hocket

from hocket.chakra import read_traces

LLM = ("llm", "llama3-8b", "--tp", 8, "--global-batch", 16)
NETWORK = ("network", "resnet50")


def test_the_machine_prices_a_step_and_fills_up_with_replicas(tmp_path: Path) -> None:
    made = hocket("generate", *LLM, "-t", "dgx-b200:nodes=2", "-o", tmp_path / "there")
    assert made.returncode == 0, made.stderr
    assert "ranks: 16 = tp 8 x cp 1 x dp 2 x pp 1" in made.stdout
    assert "computation: priced as b200 at bf16, as dgx-b200:nodes=2 has it" in made.stdout
    said = hocket("generate", *LLM, "--dp", 2, "--accelerator", "b200", "-o", tmp_path / "said")
    assert "priced as b200 at bf16, as --accelerator says" in said.stdout
    there, same = read_traces(tmp_path / "there"), read_traces(tmp_path / "said")
    assert there.traces[0].metadata == same.traces[0].metadata
    assert there.traces[0].metadata["accelerator"] == "b200"
    assert there.traces[0].duration_ns.tolist() == same.traces[0].duration_ns.tolist()
    plain = hocket("simulate", tmp_path / "there", "-t", "dgx-b200:nodes=2")
    assert plain.returncode == 0, plain.stderr
    assert "priced" not in plain.stdout + plain.stderr
    other = hocket("simulate", tmp_path / "there", "-t", "dgx-h100:nodes=2")
    assert "computation is priced as b200, and this is h100" in other.stdout + other.stderr


@pytest.mark.parametrize(("topology", "accelerator", "ranks"), [("gb200-nvl72", "gb200", 72), ("mi300x", "mi300x", 8)])
def test_a_network_is_as_large_as_the_machine(tmp_path: Path, topology: str, accelerator: str, ranks: int) -> None:
    made = hocket("generate", *NETWORK, "-t", topology, "-o", tmp_path)
    assert made.returncode == 0, made.stderr
    assert f"priced as {accelerator} at bf16, as {topology} has it" in made.stdout
    assert read_traces(tmp_path).num_ranks == ranks


def test_what_is_named_goes_before_the_machine(tmp_path: Path) -> None:
    made = hocket("generate", *NETWORK, "--ranks", 4, "--accelerator", "a100", "-t", "dgx-h100:nodes=2", "-o", tmp_path)
    assert made.returncode == 0, made.stderr
    traces = read_traces(tmp_path)
    assert traces.num_ranks == 4
    assert traces.traces[0].metadata["accelerator"] == "a100"


def test_a_collective_takes_all_ranks(tmp_path: Path) -> None:
    made = hocket("generate", "collective", "all_reduce", "--size", "1MiB", "-t", "dgx-h100:nodes=2", "-o", tmp_path)
    assert made.returncode == 0, made.stderr
    assert read_traces(tmp_path).num_ranks == 16


def test_without_a_machine_as_before(tmp_path: Path) -> None:
    made = hocket("generate", "llm", "llama3-8b", "--global-batch", 1, "-o", tmp_path)
    assert "ranks: 1 =" in made.stdout
    assert "priced as h100 at bf16, the default" in made.stdout


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (NETWORK, "--ranks is missing"),
        ((*NETWORK, "--ranks", 9, "-t", "dgx-h100"), "the job has 9 ranks, and dgx-h100 only 8"),
        ((*LLM, "--dp", 2, "-t", "dgx-h100"), "the job has 16 ranks, and dgx-h100 only 8"),
        ((*LLM, "--pp", 2, "-t", "dgx-h100"), "the job has 16 ranks, and dgx-h100 only 8"),
        (
            (*NETWORK, "-t", "ring:8,bandwidth=50GB/s,latency=1us"),
            "does not say what computes there: name it with --accelerator",
        ),
        ((*NETWORK, "-t", "dgx-h1000"), "dgx-h1000"),
        (("collective", "all_reduce", "--size", "8"), "--ranks is missing"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, asked: tuple[object, ...], told: str) -> None:
    made = hocket("generate", *asked, "-o", tmp_path / "traces")
    assert made.returncode != 0
    assert told in made.stderr
    assert not (tmp_path / "traces").exists()
