"""What the profiler plugin itself says at the end: metrics in Prometheus' text format, and a table."""

import re
from pathlib import Path

import pytest
from in_process import hocket
from nccl_player import Communicator, play_ranks

from hocket.plugin.nccl.library import nccl_profiler_path

LABEL = r'[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"([a-zA-Z_:][\w:]*)\{{({LABEL}(?:,{LABEL})*)\}} (\S+)")


def play(rank: int) -> None:
    comm = Communicator(nccl_profiler_path(), rank, 4, 0xA0)
    for microseconds in (30, 50):
        comm.collective("AllReduce", 1 << 20, "ncclFloat32", kernel=(1000, 1000 + microseconds * 1000))
    comm.collective("AllGather", 4096, "ncclInt8", kernel=(1000, 9000))
    comm.table.stop(comm.message("Send", 12, peer=1))
    comm.table.finalize(comm.context)


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reports") / "profile"
    play_ranks(folder, [0], play, HOCKET_NCCL_TABLE="1", HOCKET_NCCL_PROMETHEUS="3600")
    return folder


def samples(text: str) -> dict[tuple[str, str], float]:
    """The samples of Prometheus' text format 0.0.4, by metric and labels, each after its metric's HELP and TYPE."""
    assert text.endswith("\n")
    found: dict[tuple[str, str], float] = {}
    told: list[str] = []
    for line in text.splitlines():
        if line.startswith("# HELP "):
            told.append(line.split()[2])
        elif line.startswith("# TYPE "):
            assert line.split()[2:] == [told[-1], "counter"]
        else:
            matched = SAMPLE.fullmatch(line)
            assert matched, line
            name, labels, value = matched.groups()
            assert name == told[-1]  # the samples of a metric stand together
            assert (name, labels) not in found
            found[name, labels] = float(value)
    assert len(set(told)) == len(told)
    assert all(name.endswith("_total") for name in told)
    return found


def test_metrics_keep_to_prometheus_format(profile: Path) -> None:
    (path,) = profile.glob("*.prom")
    found = {
        (name.removeprefix("hocket_nccl_"), labels["function"]): value
        for (name, text), value in samples(path.read_text()).items()
        if "function" in (labels := dict(re.findall(r'(\w+)="([^"]*)"', text)))
    }
    assert found["calls_total", "AllReduce"] == found["timed_calls_total", "AllReduce"] == 2
    assert found["timed_seconds_total", "AllReduce"] == pytest.approx(80e-6)
    assert (found["calls_total", "Send"], found["timed_calls_total", "Send"]) == (1, 0)


def test_the_tables_have_the_numbers_of_nccl_tests(profile: Path) -> None:
    """2^20 floats are 4 MiB; in 40 us that is 104.86 GB/s, times 2 x 3/4 on the bus. Of an all_gather nccl-tests counts
    what each rank ends with: 4 x 4096 bytes in 8 us are 2.05 GB/s, 3/4 of it on the bus. It gives two digits."""
    (path,) = profile.glob("*.txt")
    heads, units, *rows = (line.split() for line in path.read_text().splitlines())
    assert heads[:4] + heads[-3:] == ["#", "size", "count", "type", "time", "algbw", "busbw"]
    assert units == ["#", "(B)", "(elements)", "(us)", "(GB/s)", "(GB/s)"]
    by_function = {row[3]: row for row in rows}
    reduced, gathered = by_function["AllReduce"], by_function["AllGather"]
    assert reduced[:3] + reduced[-3:] == ["4194304", "1048576", "ncclFloat32", "40.00", "104.86", "157.29"]
    assert gathered[:3] + gathered[-3:] == ["16384", "4096", "ncclInt8", "8.00", "2.05", "1.54"]
    shown = [line.split() for line in hocket("nccl", "profile", "show", profile).stdout.splitlines()[2:]]
    # The command has the least time too, before the mean; messages have no algorithm.
    assert [[*row[:10], *row[11:]] for row in shown[:2]] == rows[:2]
