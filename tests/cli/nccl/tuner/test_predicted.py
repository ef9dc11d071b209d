"""`hocket nccl tuner make` from the model, and from simulation."""

from itertools import pairwise
from pathlib import Path

import pytest
from in_process import hocket

from hocket.base.errors import ExitCode
from hocket.nccl import NcclModel, read_settings
from hocket.nccl.programs import NcclProgram, nccl_program
from hocket.nccl.tuning import model_choices
from hocket.simulator import simulate_program
from hocket.topology import load
from hocket.topology.machines.loading import load_machine


def rules(path: Path) -> list[list[str]]:
    return [line.split(",") for line in path.read_text().splitlines() if not line.startswith("#")]


def test_the_model_s_choices_are_pinned_to_the_byte(tmp_path: Path) -> None:
    out = tmp_path / "table.csv"
    words = ["--topology", "dgx-a100", "--nodes", 2, "--set", "NCCL_PROTO=^LL", "-c", "all_reduce", "--max", "1GiB"]
    done = hocket("nccl", "tuner", "make", *words, "-o", out)
    assert done.returncode == ExitCode.DONE, done.stderr
    model = NcclModel(load_machine("dgx-a100"), 2, read_settings(["NCCL_PROTO=^LL"]))
    written = rules(out)
    assert (written[0][1], written[-1][2]) == ("8", str(2**30)) and len(written) > 2
    for before, after in pairwise(written):
        assert int(after[1]) == int(before[2]) + 1
        names = model_choices(model, "AllReduce", [int(before[2]), int(after[1])])
        assert [name.name.lower().split("/") for name in names] == [before[3:5], after[3:5]]
    assert "NCCL_PROTO=^LL" in out.read_text() and "2 nodes" in done.stdout


def test_the_quickest_as_simulated(tmp_path: Path) -> None:
    out = tmp_path / "table.csv"
    links = "dgx-a100:nodes=4,fabric=fat_tree,leaf=1,oversubscription=8"  # trees cross it more than rings do
    words = ["--topology", "dgx-a100", "--nodes", 4, "--simulate", links, "-c", "all_reduce"]
    done = hocket("nccl", "tuner", "make", *words, "--min", "4MiB", "--max", "4MiB", "-o", out)
    assert done.returncode == ExitCode.DONE, done.stderr
    size, model, topology = 4 << 20, NcclModel(load_machine("dgx-a100"), 4), load(links)
    times = {}
    for algorithm in ("Ring", "Tree"):
        for protocol in ("LL", "LL128", "Simple"):
            program = nccl_program(model, "AllReduce", size, algorithm, protocol)
            assert isinstance(program, NcclProgram)
            found = simulate_program(program.program, topology, size, passes=program.passes)
            times[algorithm.lower(), protocol.lower()] = found.time_ps
    (rule,) = rules(out)
    quickest = min(times, key=lambda name: times[name])
    assert rule == ["allreduce", str(size), str(size), *quickest, "-1", "4", "32"]
    (own,) = model_choices(model, "AllReduce", [size])
    gain = 100 * (1 - times[quickest] / times[own.algorithm.lower(), own.protocol.lower()])
    assert f"{gain:.1f}% less time" in done.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--simulate", "dgx-a100:nodes=3"], "dgx-a100:nodes=3 has 24 ranks, --topology and --nodes 16"),
        (["--simulate", "dgx-a100:nodes=2", "--calibration", "fit.yaml"], "--calibration and --simulate"),
        (["--set", "NCCL_ALGO=rnig"], "NCCL_ALGO=rnig"),
        (["--min", "8 apples"], "8 apples"),
    ],
)
def test_what_is_refused(words: list[str], expected: str, tmp_path: Path) -> None:
    start = ["--topology", "dgx-a100", "--nodes", 2, "-c", "all_reduce"]
    done = hocket("nccl", "tuner", "make", *start, *words, "-o", tmp_path / "table.csv")
    assert done.returncode in (ExitCode.USAGE, ExitCode.BAD_INPUT) and expected in " ".join(done.stderr.split())
