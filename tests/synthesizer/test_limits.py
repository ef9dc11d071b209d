"""What is too much, or cannot be, is said before the search, with the remedy."""

import shutil
from collections import namedtuple
from functools import partial
from pathlib import Path

import in_process
import pytest

from hocket.base.errors import ScheduleError
from hocket.schedule import Collective, Kind
from hocket.synthesizer import Problem, Search, resources, synthesize
from hocket.synthesizer.search import Progress
from hocket.topology import load

LINK = "bandwidth=50GiB/s,latency=500ns"


hocket = partial(in_process.hocket, "synthesize")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        # 10,000 ranks x 9,999 others x 300 chunks x 15 ns a delivery = 450 s
        (("all_gather", "-t", f"mesh:100x100,{LINK}", "--chunks", "300", "--blocking"), 3, ["`rounds` about 7.5 min"]),
        # 4,000 x 3,999 routes x 3 us = 48 s
        (("all_gather", "-t", f"switch:4000,{LINK}", "--chunks", "64"), 3, ["15996000 routes", "47.99 s"]),
        (("all_to_all", "-t", f"mesh:200x200,{LINK}", "--chunks", "1"), 3, ["40000 ranks", "fewer ranks"]),
        (("all_gather", "-t", f"mesh:32x32,{LINK}", "--time-limit", "1ms"), 130, ["give it more time"]),
        (("all_gather", "-t", f"mesh:4x4,{LINK}", "--time-limit", "0s"), 3, ["time limit", "more than 0"]),
        (("all_gather", "-t", f"mesh:4x4,{LINK}", "--chunks", "200000000"), 3, ["limit 2^31", "larger chunks"]),
        (("all_gather", "-t", "mesh:4x4,bandwidth=0,latency=1us"), 3, ["bandwidth"]),
        (("all_gather", "-t", "mesh:4x4,bandwidth=-1GB/s,latency=1us"), 3, ["bandwidth"]),
        (("all_gather", "-t", "mesh:4x4,bandwidth=1GB/s,latency=-1us"), 3, ["latency"]),
        (("all_gather", "-t", f"mesh:4,{LINK}", "--group", "0,3"), 4, ["rank 0", "no link joins", "connect them"]),
        (
            ("all_gather", "-t", f"mesh:4,{LINK}", "--without", "link:1-2"), 3, ["ranks 0-1", "ranks 2-3"],
        ),
    ],
)  # fmt: skip
def test_said_with_the_remedy(arguments: tuple[str, ...], code: int, words: list[str]) -> None:
    done = hocket(*arguments, "-s", "1GiB")
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr


def test_an_unreachable_rank_is_named(tmp_path: Path) -> None:
    (tmp_path / "net.yaml").write_text(
        "ranks: 3\nlinks:\n- {from: 0, to: 1, bandwidth: 1GB/s, latency: 1us}\n", encoding="utf-8"
    )
    (tmp_path / "want.yaml").write_text("ranks: 3\nchunks:\n- {from: 0, to: 2, bytes: 1KiB}\n", encoding="utf-8")
    done = hocket("custom", "-t", tmp_path / "net.yaml", "--conditions", tmp_path / "want.yaml")
    assert done.returncode == 3, done.stderr
    assert "rank 0 cannot reach rank 2: add links that connect them" in done.stderr


def test_memory_never_chooses_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same call gives the same schedule on every machine, or an error where there is no room for it."""
    collective, topology = Collective(Kind.ALL_GATHER, 12, 2**20), load(f"mesh:12,{LINK}")
    schedule = synthesize(collective, topology)
    monkeypatch.setattr(resources, "machine_bytes", lambda: 2**50)
    assert synthesize(collective, topology).generator == schedule.generator
    monkeypatch.setattr(resources, "_MOST_SPELLED_OUT", 100)
    problem = Problem(collective, topology)
    assert "its 132 transfers take about 10.31 KiB of memory; at most 100" in str(
        resources.why_not_spelled_out(problem)
    )


def test_a_machine_without_memory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """12 x 11 transfers of 80 bytes each."""
    monkeypatch.setattr(resources, "machine_bytes", lambda: 10_000)
    problem = Problem(Collective(Kind.ALL_GATHER, 12, 2**20), load(f"mesh:12,{LINK}"))
    with pytest.raises(
        ScheduleError, match=r"132 transfers take about 10.31 KiB of memory, and this machine has 9.766"
    ):
        synthesize(problem.collective, problem.topology, engine="matching")
    topology = load(f"switch:12,{LINK}")
    with pytest.raises(ScheduleError, match=r"132 routes through switches: they take about 396 us and 15.47 KiB"):
        synthesize(problem.collective, topology)


def test_a_time_limit_is_leave_to_take_long() -> None:
    problem = Problem(Collective(Kind.ALL_GATHER, 4000, 2**20), load(f"switch:4000,{LINK}"))
    with pytest.raises(ScheduleError, match=r"47\.99 s"):
        resources.require_routes(problem, Search())
    resources.require_routes(problem, Search(progress=Progress(deadline_s=1.0)))


def test_a_disk_without_space_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "free")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(2**10))
    with pytest.raises(ScheduleError, match=r"the rounds take .* KiB on the disk of .*, which has 1 KiB; choose"):
        synthesize(Collective(Kind.ALL_GATHER, 1024, 2**30), load(f"mesh:32x32,{LINK}"), engine="rounds")
