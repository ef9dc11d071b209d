"""What is known of the collectives, and what becomes of one that somebody adds without saying what it does."""

import re
from pathlib import Path
from typing import get_args

import pytest
from house_copies import HouseCopy

from hocket.base.collectives import (
    BARRIER,
    MESSAGE,
    NAMED_KINDS,
    RECV,
    SEND,
    Held,
    Kind,
    kind_called,
    nccl_name,
    whole_size,
)
from hocket.base.enums import assert_never, not_here
from hocket.base.errors import HocketError
from hocket.chakra import CollectiveType
from hocket.chakra.c10d import OPERATIONS
from hocket.recording import stream_lines

ROOT = Path(__file__).parents[2]
RING = "ring:8,bandwidth=50GB/s,latency=500ns"


def test_before_and_after_tell_the_collectives_apart() -> None:
    said = {(kind.before, kind.after) for kind in NAMED_KINDS}
    assert len(said) == len(NAMED_KINDS)
    assert (Kind.CUSTOM.before, Kind.CUSTOM.after) == (Held.CONDITIONS, Held.CONDITIONS)


@pytest.mark.parametrize(
    ("trait", "kinds"),
    [
        ("reduces", "all_reduce reduce_scatter reduce"),
        ("spreads", "all_reduce all_gather broadcast"),
        ("rooted", "broadcast reduce gather scatter"),
        ("shares_buffer", "all_reduce broadcast reduce"),
        ("in_blocks", "all_gather reduce_scatter all_to_all gather scatter"),
        ("in_pairs", "all_to_all"),
        ("input_is_block", "all_gather gather"),
        ("output_is_block", "reduce_scatter scatter"),
        ("cut_by_rank", "all_reduce all_gather reduce_scatter all_to_all gather scatter"),
    ],
)
def test_what_follows_from_before_and_after(trait: str, kinds: str) -> None:
    assert [kind for kind in Kind if getattr(kind, trait)] == [kind for kind in Kind if kind in kinds.split()]


def test_what_covers_no_more_is_refused_by_name_and_place() -> None:
    for refuse in (assert_never, not_here):
        with pytest.raises(HocketError, match=r"^Kind 'scatter' means nothing in .*test_collectives, line [0-9]+: "):
            refuse(Kind.SCATTER)


def test_a_kind_that_says_nothing_of_itself_gets_no_number(tmp_path: Path) -> None:
    house = HouseCopy(tmp_path, changed=["base"])
    house.replace("base/collectives.py", '    CUSTOM = "custom"\n', '    CUSTOM = "custom"\n    SCAN = "scan"\n')
    for command in (
        ["simulate", "scan", "-t", RING, "-s", "64MiB"],
        ["simulate", "scan", "-t", RING, "-s", "64MiB", "--algorithm", "direct"],
        ["simulate", "scan", "-t", RING, "-s", "64MiB", "--model", "bound"],
        ["synthesize", "scan", "-t", RING, "-s", "64MiB"],
    ):
        done = house.hocket(*command)
        assert done.returncode == 3, command
        assert "Kind 'scan' means nothing in hocket.base.collectives" in done.stderr
        assert not done.stdout
    found = house.mypy("base/collectives.py")
    assert found.stdout.count('has incompatible type "Literal[Kind.SCAN]"') == 2, found.stdout  # before and after


def test_a_kind_that_no_algorithm_knows_is_refused_by_name(tmp_path: Path) -> None:
    """It says that every rank has a part, and that every rank gets the sum: nothing else of it is an all_reduce."""
    house = HouseCopy(tmp_path, changed=["base"])
    house.replace("base/collectives.py", '    CUSTOM = "custom"\n', '    CUSTOM = "custom"\n    SCAN = "scan"\n')
    house.replace("base/collectives.py", "| Kind.REDUCE:\n", "| Kind.REDUCE | Kind.SCAN:\n")
    house.replace("base/collectives.py", "| Kind.BROADCAST:\n", "| Kind.BROADCAST | Kind.SCAN:\n")
    for command, said in (
        (["simulate", "scan", "-t", RING, "-s", "64MiB"], "no native algorithm does scan"),
        (["simulate", "scan", "-t", RING, "-s", "64MiB", "--algorithm", "direct"], "direct does all_reduce, "),
        (["synthesize", "scan", "-t", RING, "-s", "64MiB", "--engine", "native:direct"], "direct does all_reduce, "),
    ):
        done = house.hocket(*command)
        assert done.returncode == 3, command
        assert said in done.stderr
        assert not done.stdout


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        ("AllReduce allreduce_coalesced_ all_reduce_perf_mpi ALLREDUCE all_reduce_sparse", Kind.ALL_REDUCE),
        ("_allgather_base_ AllGather all_gather_into_tensor_coalesced allgatherv Allgather", Kind.ALL_GATHER),
        ("reducescatter _reduce_scatter_base_ ReduceScatter Reduce_scatter_block", Kind.REDUCE_SCATTER),
        ("AlltoAll alltoall_base_ all_to_allv all_to_all_single ALLTOALL alltoall_perf", Kind.ALL_TO_ALL),
        ("bcast _broadcast_oop Broadcast", Kind.BROADCAST),
        ("barrier all_reduce_barrier", BARRIER),
        ("sendrecv_perf", MESSAGE),
    ],
)
def test_one_name_for_what_others_call_differently(names: str, kind: str) -> None:
    assert {name: kind_called(name) for name in names.split()} == dict.fromkeys(names.split(), kind)


@pytest.mark.parametrize(
    ("kind", "given", "taken", "size"),
    [
        ("all_reduce", 8, 8, 8),
        ("all_gather", 8, 32, 32),
        ("all_gather", 8, 0, 32),
        ("reduce_scatter", 32, 8, 32),
        ("gather", 8, 0, 32),
        ("scatter", 0, 8, 32),
        ("scatter", 32, 8, 32),
        ("all_to_all", 32, 32, 32),
        ("broadcast", 8, 8, 8),
        (BARRIER, 0, 0, 0),
        (SEND, 8, 0, 8),
        (RECV, 0, 8, 8),
    ],
)
def test_sizes_are_those_of_nccl_tests(kind: str, given: int, taken: int, size: int) -> None:
    assert whole_size(kind, given, taken, 4) == size


def test_what_is_no_collective_has_no_name() -> None:
    for name in ("scan", "wait", "coalesced", "ring", "reduce_scan", "", "gather_scatter"):
        assert kind_called(name) is None


def test_names_of_nccl_are_read_as_they_are_written() -> None:
    assert {kind: kind_called(nccl_name(kind)) for kind in NAMED_KINDS} == {kind: kind for kind in NAMED_KINDS}


def test_operations_of_pytorch_and_lines_of_the_recorder_use_the_same_words() -> None:
    for name, operation in OPERATIONS.items():
        assert operation.kind in (*NAMED_KINDS, BARRIER, SEND, RECV)
        assert kind_called(name) in (operation.kind, None)  # monitored_barrier_, recv_any_source_
    assert set(get_args(stream_lines.Kind)) == {*NAMED_KINDS, BARRIER, SEND, RECV}
    assert {each.kind for each in CollectiveType} == {*NAMED_KINDS, BARRIER}


def test_plugins_in_cpp_use_the_same_words() -> None:
    totals = (ROOT / "plugin/nccl/profiler/totals.cpp").read_text(encoding="utf-8")
    in_parts = re.search(r"bool counts_parts.*?\{(\"[^}]*)\}", totals, re.DOTALL)
    assert in_parts
    assert set(re.findall(r'"(\w+)"', in_parts[1])) == {nccl_name(kind) for kind in NAMED_KINDS if kind.in_blocks}
    sizes = (ROOT / "plugin/mpi/collective_sizes.hpp").read_text(encoding="utf-8")
    named = set(re.findall(r'(?:kind = |sized\()"(\w+)"', sizes))
    assert named == {*NAMED_KINDS, BARRIER}
