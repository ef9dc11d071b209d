"""Programs called by name, with ranks that agree, disagree, are apart, and die: real processes and gloo groups."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import handmade
import pytest

from hocket.schedule import Collective, Kind
from hocket.synthesizer import synthesize
from hocket.topology import load
from hocket.translator import to_program_json
from hocket.translator.bundle import Source, write_bundle

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

JOB = Path(__file__).with_name("communicator_job.py")
RANKS = 4
PAIR = load("ring:2,bandwidth=50GB/s,latency=500ns")


def bundle(folder: Path, *groups: tuple[int, ...]) -> None:
    schedule = synthesize(Collective(Kind.ALL_REDUCE, 2, 1 << 16), PAIR)
    write_bundle([Source(Path("pair.schedule"), schedule.collective, schedule)], folder, "executor", groups=groups)


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[int, dict[str, Any]], dict[str, Any], Path]:
    """What each rank saw, and what became of the other jobs."""
    folder = tmp_path_factory.mktemp("communicators")
    handmade.one_of_every_kind(folder / "made")
    (folder / "made" / "all_reduce_3.json").write_text(to_program_json(handmade.ring_all_reduce(3)))
    handmade.write(folder / "ring", handmade.ring_all_reduce(RANKS))
    handmade.write(folder / "pairs", handmade.ring_all_reduce(2))
    (folder / "both").mkdir()
    bundle(folder / "both" / "first", (0, 2))
    bundle(folder / "both" / "second", (1, 3))
    done = subprocess.run([sys.executable, JOB, folder], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-4000:]
    others = json.loads((folder / "others.json").read_text())
    assert others["codes"] == [0, 0, 0, -signal.SIGKILL], done.stderr[-4000:]
    facts = {rank: json.loads((folder / f"facts.{rank}.json").read_text()) for rank in range(RANKS)}
    return facts, others | {"said": done.stderr}, folder


Job = tuple[dict[int, dict[str, Any]], dict[str, Any], Path]


def test_every_collective_has_the_stock_library_s_values(job: Job) -> None:
    for facts in job[0].values():
        assert facts["wrong"] == []
        kinds = ("all_gather", "all_reduce", "all_to_all", "broadcast", "reduce_scatter")
        assert facts["ran"] == [f"made/{kind}_4.json" for kind in kinds]
        assert facts["reasons"] == {"no program for root 0 on 4 ranks": 9, "sum of complex64": 1}


def test_float8_is_added_as_float_and_rounded_once_an_addition(job: Job) -> None:
    for facts in job[0].values():
        assert facts["float8"] == {"torch.float8_e4m3fn": True, "torch.float8_e5m2": True}
        assert facts["float8, natively"] == {"sum of float8_e5m2": 1}


def test_all_ranks_tune_alike_and_a_restart_need_not(job: Job) -> None:
    first = job[0][0]["tuning"]["table"]
    assert [row[:2] for row in first["rows"]] == [
        [kind, size] for kind in ("all_gather", "all_reduce") for size in (8 << 10, 64 << 10)
    ]
    for facts in job[0].values():
        tuned = facts["tuning"]
        assert tuned["table"] == first and tuned["loaded alike"] and tuned["right"]
        assert tuned["unknown"].startswith("gather: a communicator has all_reduce, all_gather, reduce_scatter, ")
        assert "hocket: the quickest of what was measured (ranks 4, engine device, device cpu):" in tuned["described"]
    for _, _, choice, times in first["rows"]:
        least = min(times.values())
        assert "-1" in times and choice == min(int(number) for number, time in times.items() if time == least)


def test_a_table_for_something_else_is_refused_on_all_ranks(job: Job) -> None:
    facts, _, folder = job
    for rank, seen in facts.items():
        other = seen["tuning"]["other programs"]
        assert "table.json: made for programs " in other and other.endswith(": tune again")
        absent = seen["tuning"]["absent at rank 2"]
        assert absent == f"{'' if rank == 2 else 'rank 2: '}{folder}/absent.json: No such file or directory"


def test_ranks_that_disagree_run_stock_and_count_why(job: Job) -> None:
    for rank, facts in job[0].items():
        assert facts["disagreements"] == {
            "other programs": {"ranks 0 and 3 of the group have different programs": 1},
            "none for so many": {"ranks 0 and 3 of the group have different programs": 1},
            "other engines": {"ranks 0 and 1 of the group ask for different engines": 1},
            **({"never asks": {"not all ranks of the group asked for programs within 4.5 s": 1}} if rank != 2 else {}),
        }


def test_a_group_runs_its_own_programs(job: Job) -> None:
    for rank, facts in job[0].items():
        own = "both/second/" if rank % 2 else "both/first/"
        assert len(facts["groups"]) == 2 and all(name.startswith(own) for name in facts["groups"]), facts["groups"]


def test_a_dead_rank_is_named_with_its_process_and_keeps_nobody(job: Job) -> None:
    facts = job[0]
    killed, ended = facts[3]["deaths"]["process"], facts[1]["deaths"]["process"]
    for rank in (0, 2):
        seen = facts[rank]["deaths"]
        assert f"rank 2 (process {killed}) has died" in seen["killed"], "in the group rank 3 is rank 2"
        assert f"rank 1 (process {ended}) has died" in seen["ended"]
        assert seen["killed after"] < 10 and seen["ended after"] < 10, "not until the group's half hour is over"
        assert seen["killed again"] == seen["killed"] and seen["ended again"] == seen["ended"]


def test_who_ended_after_its_part_is_not_missed(job: Job) -> None:
    assert all(facts["deaths"]["sent"] == [7.0] * 4 for facts in job[0].values())


def test_ranks_that_share_no_memory_use_the_group_s_messages(job: Job) -> None:
    _, others, folder = job
    if 77 in others["apart"]:
        pytest.skip("no namespace of processes is permitted here")
    assert others["apart"] == [0, 0], others["said"][-3000:]
    for rank in range(2):
        seen = json.loads((folder / f"apart.{rank}.json").read_text())
        (ran,) = seen["counts"]["algorithms"]
        why = "no device engine: its ranks are on 2 machines, or do not see each other's processes"
        assert (seen["result"], ran["calls"], ran["calls_by_p2p"], ran["p2p_reasons"]) == (3.0, 1, 1, {why: 1})
        assert f"1 over the group's own messages ({why})" in seen["described"]


def test_a_device_s_failure_ends_the_process_as_nccl_s_watchdog_would(job: Job) -> None:
    assert job[1]["watched"] == [-signal.SIGABRT, 0, 0]
    words = "hocket: rank 0 of 2: thread block 3 step 2: no message came from rank 1 in time; "
    assert f"{words}the process is aborted, as by NCCL's watchdog" in job[1]["said"]
    assert f"{words}its results are undefined, and every later call fails" in job[1]["said"]
