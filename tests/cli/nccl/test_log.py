"""`hocket nccl log` on logs as NCCL 2.30.7 would print them: what its own code answered, in its own format."""

import csv
from pathlib import Path

import pytest
from in_process import hocket

from hocket.base.errors import ExitCode
from hocket.nccl import ALGORITHMS, COLLECTIVES, PROTOCOLS

PREFIX = "0: node-a:400:455 [0] NCCL INFO "
LOGGED = {"CollNetDirect": "COLLNET_DIRECT", "CollNetChain": "COLLNET_CHAIN", "NVLSTree": "NVLS_TREE"}


def golden_log(shared: Path, ranks: int = 16) -> str:
    """DGX H100 on two nodes: the table, and a call of each collective and size."""
    lines = [f"comm 0x1 rank 0 nRanks {ranks} nNodes 2 localRanks 8 localRank 0 MNNVL 0"]
    terms = {}
    for line in (shared / "nccl_model" / "model_dgx_h100_2n.txt").read_text().splitlines():
        if line.startswith("T "):
            _, collective, algorithm, protocol, _, latency, _, bandwidth = line.split()
            terms[collective, algorithm, protocol] = float(latency), float(bandwidth)
    for first in (0, 3, 6):
        block = ALGORITHMS[first : first + 3]
        lines.append("  Algorithm   |" + "".join(f" {'':>14}   {name:>14}   {'':>14} |" for name in block))
        for collective in COLLECTIVES:
            cells = [terms.get((collective, name, protocol), (0.0, 0.0)) for name in block for protocol in PROTOCOLS]
            lines.append(f"{collective:>13} |" + "".join(f"{latency:8.1f}/{width:6.1f} |" for latency, width in cells))
    with (shared / "nccl_model" / "choice_dgx_h100_2n.csv").open() as file:
        for row in csv.DictReader(file):
            of_block = row["coll"] in ("AllGather", "ReduceScatter")
            size = int(row["bytes"]) // (ranks if of_block else 1)
            if size == 0:
                continue
            algorithm = LOGGED.get(row["algo"], row["algo"].upper())
            channels = f"channel{{Lo..Hi}}={{0..{int(row['nchannels']) - 1}}}"
            lines.append(f"{row['coll']}: {size} Bytes -> Algo {algorithm} proto {row['proto'].upper()} {channels}")
    return "".join(f"{PREFIX}{line}\n" for line in lines)


@pytest.mark.shared
def test_a_job_s_choices_beside_the_model_s(shared: Path, tmp_path: Path) -> None:
    machine = shared / "nccl_topology" / "generated" / "dgx_h100.xml"
    text = golden_log(shared)
    (tmp_path / "rank0.log").write_text(text)
    done = hocket("nccl", "log", tmp_path / "rank0.log", "--topology", machine, "--nodes", 2)
    assert done.returncode == ExitCode.DONE, done.stderr
    # 32 sizes of five collectives, but of all_gather and reduce_scatter none below 16 B.
    assert "158 of 158 sizes as modelled" in done.stdout
    assert "0 of 105 latencies and bandwidths that NCCL printed differ" in done.stdout
    line = next(line for line in done.stdout.splitlines() if "NVLSTree/Simple" in line)
    assert line.split()[:6] == ["AllReduce", "2", "MiB", "..", "16", "GiB"] and line.endswith("as modelled")

    # NCCL that took another choice at 1 MiB, and counts with another latency.
    other = text.replace(
        "AllReduce: 1048576 Bytes -> Algo TREE proto LL128", "AllReduce: 1048576 Bytes -> Algo RING proto LL"
    )
    other = other.replace("25.2/  16.6", "29.9/  16.6")
    (tmp_path / "rank0.log").write_text(other)
    done = hocket("nccl", "log", tmp_path / "rank0.log", "--topology", machine, "--nodes", 2)
    assert "157 of 158 sizes as modelled" in done.stdout and "modelled: Tree/LL128; this takes up to" in done.stdout
    assert "logged 29.9 us, 16.6 GB/s; modelled 25.2 us, 16.6 GB/s" in done.stdout

    for version, note in (("2.30.7+cuda12.9", ""), ("2.21.5+cuda12.4", "note: NCCL 2.21.5+cuda12.4 is not modelled")):
        (tmp_path / "rank0.log").write_text(f"NCCL version {version}\n{text}")
        told = hocket("nccl", "log", tmp_path / "rank0.log", "--topology", machine, "--nodes", 2).stdout
        assert told.startswith(note or "rank0.log: NCCL 2.30.7")

    (tmp_path / "rank0.log").write_text(golden_log(shared, ranks=32))
    done = hocket("nccl", "log", tmp_path / "rank0.log", "--topology", machine, "--nodes", 2)
    assert done.returncode == ExitCode.BAD_INPUT and "a job of 32 ranks of 2 nodes, but" in done.stderr


def test_a_log_alone(tmp_path: Path) -> None:
    lines = [
        "NCCL_NVLS_ENABLE set by environment to 0.",
        "AllGather: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..3}",
        "AllGather: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}",
        "AllReduce: 8 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..0}",
    ]
    path = tmp_path / "job.log"
    path.write_text("".join(f"{PREFIX}{line}\n" for line in lines))
    done = hocket("nccl", "log", path)
    assert done.returncode == ExitCode.DONE
    assert "with NCCL_NVLS_ENABLE=0" in done.stdout and "of one rank's block" in done.stdout
    line = next(line for line in done.stdout.splitlines() if "Ring/LL" in line)
    assert line.split() == ["AllGather", "4", "KiB", "..", "4", "KiB", "Ring/LL", "2", "calls", "channels", "2..4"]
    path.write_text(f"{PREFIX}8 Bytes -> Algo 0 proto 0 time 1.0\n")
    assert "say --collective" in hocket("nccl", "log", path).stderr
    assert "AllReduce" in hocket("nccl", "log", path, "-c", "all_reduce").stdout
