"""One spec of machines for all commands: what `simulate` takes, `nccl` takes, and means the same by it."""

import csv
from pathlib import Path

import pytest
from in_process import hocket

from hocket.base.errors import ExitCode


def chosen(folder: Path, *words: object) -> list[list[str]]:
    """The rows that `nccl choose` writes."""
    done = hocket("nccl", "choose", "-t", *words, "--csv", folder / "choices.csv")
    assert done.returncode == ExitCode.DONE, done.stderr
    with (folder / "choices.csv").open() as file:
        return list(csv.reader(file))


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("dgx-h100:nodes=2", ["dgx-h100", "--nodes", 2]),
        ("dgx-h100:nodes=2", ["dgx-h100:nodes=2", "--nodes", 2]),  # what says the same contradicts nothing
        ("dgx-h100:nodes=2,gpus=8,fabric=rail_only,nvls=1", ["dgx-h100", "--nodes", 2]),
        ("gb200-nvl72", ["gb200-nvl72", "--nodes", 18]),
        ("gb200-nvl72:nodes=2", ["gb200-nvl72", "--nodes", 36]),
        ("gb200-nvl72:gpus=8", ["gb200-nvl72", "--nodes", 2, "--nvlink-domain", 2]),
    ],
)
def test_a_spec_and_its_alias_give_the_same_choices(tmp_path: Path, spec: str, words: list[object]) -> None:
    assert chosen(tmp_path, spec) == chosen(tmp_path, *words)


def test_files_take_the_same_spec(tmp_path: Path) -> None:
    machine = tmp_path / "machine.xml"
    assert hocket("topology", "save", "dgx-h100", "-o", machine).returncode == ExitCode.DONE
    (tmp_path / "cluster.yaml").write_text("spec: dgx-h100:nodes=2\n")
    (tmp_path / "several.yaml").write_text("machines: [dgx-h100, 'dgx-h100:nodes=1']\n")
    expected = chosen(tmp_path, "dgx-h100:nodes=2")
    for words in (
        [f"nccl:{machine},nodes=2"],
        [machine, "--nodes", 2],
        [tmp_path / "cluster.yaml"],
        [tmp_path / "several.yaml"],
    ):
        assert chosen(tmp_path, *words) == expected


def test_a_rack_is_one_nvlink_domain(tmp_path: Path) -> None:
    """NCCL's model without NICs between the trays: 2.37 ms at 1 GiB, of which a public run took 3.1; 18 hosts over
    their NICs are 11 ms."""
    rows = {row[1]: float(row[4]) for row in chosen(tmp_path, "gb200-nvl72", "--nodes", 18, "-c", "all_reduce")[1:]}
    assert 2_300 < rows[str(2**30)] < 2_500
    words = ["gb200-nvl72", "--nodes", 18, "--nvlink-domain", 1, "-c", "all_reduce"]
    assert float({row[1]: row[4] for row in chosen(tmp_path, *words)[1:]}[str(2**30)]) > 10_000


@pytest.mark.parametrize(("name", "gpus"), [("dgx-h100", 2), ("dgx-h100", 4), ("dgx-1", 6)])
def test_the_first_gpus_of_each_node(name: str, gpus: int) -> None:
    done = hocket("nccl", "choose", "-t", f"{name}:nodes=2,gpus={gpus}", "-c", "all_reduce")
    assert f"2 nodes, {2 * gpus} ranks" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["dgx-h100:nodes=2", "--nodes", 4], "dgx-h100:nodes=2 is 2 nodes, and --nodes says 4: keep one"),
        (["gb200-nvl72:nodes=2", "--nodes", 2], "is 36 nodes: 18 at a time share NVSwitches, and --nodes says 2"),
        (["gb200-nvl72", "--nodes", 2], "say --nodes 18, 36, ..., or gb200-nvl72:nodes=1, which is 18 of them"),
        (["dgx-h100:nodes=2,gpus=9"], "takes gpus from 1 to 8"),
        (["dgx-h100:node=2"], "unknown key 'node'"),
        (["dgx-h10"], "no such file, and no machine by that name; did you mean 'dgx-h100'?"),
        (["ring:8,bandwidth=50GB/s,latency=500ns"], "a graph alone, which does not say what its machines are"),
        (["mi250"], "16 GPUs of gfx90a: RCCL's choices are modelled of 8 GPUs of gfx942 (MI300X, MI325X)"),
        (["mi300x", "--set", "NCCL_ALGO=ring"], "--set is of NCCL, and mi300x runs RCCL 2.28.3"),
    ],
)
def test_what_is_refused(words: list[object], message: str) -> None:
    done = hocket("nccl", "choose", "-t", *words)
    assert done.returncode in (ExitCode.USAGE, ExitCode.BAD_INPUT)
    assert message in " ".join(done.stderr.split())


def test_every_command_that_takes_a_machine_takes_the_spec(tmp_path: Path) -> None:
    log = "node-a:400:455 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..7}\n"
    (tmp_path / "rank0.log").write_text("node-a:400:455 [0] NCCL INFO comm 0x1 rank 0 nRanks 16 nNodes 2\n" + log)
    (tmp_path / "table.csv").write_text("allreduce,0,-1,nvls_tree,simple,-1,2,16\n")
    commands = {
        "log": ["log", tmp_path / "rank0.log", "-t"],
        "program": ["program", "-s", "1MiB", "--algorithm", "ring", "-o", tmp_path / "ring.xml", "-t"],
        "make": ["tuner", "make", "-c", "all_reduce", "-o", tmp_path / "made.csv", "-t"],
        "check": ["tuner", "check", tmp_path / "table.csv", "--against"],
    }
    for words in commands.values():
        one, other = (hocket("nccl", *words, *spec) for spec in (["dgx-h100:nodes=2"], ["dgx-h100", "--nodes", 2]))
        assert (one.returncode, one.stdout) == (ExitCode.DONE, other.stdout), one
        refused = hocket("nccl", *words, "dgx-h100:nodes=2", "--nodes", 3)
        assert "and --nodes says 3" in refused.stderr
