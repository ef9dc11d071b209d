"""Merges streams written by hand: times, dependencies, clocks, disagreements."""

import json
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from streams import END, Record, call, done, group, meta, wait, write

from hocket.base.errors import FormatError
from hocket.chakra import NodeType, read_traces
from hocket.chakra.messages import read_messages
from hocket.chakra.steps import NO_STEP, step_of_nodes
from hocket.recording.folder import stream_path
from hocket.recording.merge import merge
from hocket.recording.recording import read_recording
from hocket.recording.summary import RecordingSummary
from hocket.recording.waits import NONE
from hocket.simulator import simulate_traces
from hocket.simulator.analysis import step_table
from hocket.topology import load


def problems(summary: RecordingSummary) -> list[str]:
    return [mismatch.problem for mismatch in summary.mismatches]


def test_compute_runs_beside_what_is_not_yet_waited_for(tmp_path: Path) -> None:
    """An asynchronous call issued at 1 us and waited for from 4 to 6 us, between two synchronous ones."""
    for rank in (0, 1):
        write(
            tmp_path,
            rank,
            meta(rank),
            group([0, 1]),
            call(0, 0),
            wait(0, 0, 500),
            call(1, 1000, **{"async": 1}),
            done(1, 5500),
            wait(1, 4000, 6000),
            call(2, 9000),
            wait(2, 9100, 10000),
            END,
        )
    summary = merge(tmp_path)
    assert summary.problems() == ["all ranks recorded, all collectives complete, no disagreement between ranks"]
    trace = read_traces(str(tmp_path)).traces[0]
    rows = [
        (
            NodeType(trace.type[row]).name,
            int(trace.duration_ns[row]),
            trace.data_deps[trace.data_offset[row] : trace.data_offset[row + 1]].tolist(),
        )
        for row in range(len(trace))
    ]
    assert rows == [
        ("COMM_COLL", 500, []),
        ("COMP", 500, [0]),  # 500 to 1000
        ("COMM_COLL", 4500, [1]),  # 1000 to 5500
        ("COMP", 3000, [1]),  # 1000 to 4000, beside it
        ("COMP", 3000, [2, 3]),  # 6000 to 9000, after both
        ("COMM_COLL", 1000, [4]),
    ]
    # Waiting: 500 + (6000 - 4000) + (10000 - 9000); under way or waited for: 500 + (6000 - 1000) + 1000; what of 10000
    # is not waited is compute.
    assert [(row.exposed_ns, row.communication_ns, row.compute_ns) for row in summary.ranks] == [(3500, 6500, 6500)] * 2


def test_a_batch_is_issued_at_once_and_waited_for_by_the_work_of_its_last_message(tmp_path: Path) -> None:
    """NCCL gives a batch one Work: recorded as the last message's, it ends both."""
    message = {"op": "send", "peer": 1, "async": 1}
    write(
        tmp_path,
        0,
        meta(0),
        group([0, 1]),
        call(0, 0, **message),  # not of the batch, and never waited for
        call(1, 1000, **message),
        "b 1 0",
        call(2, 1500, **message),
        "b 2 0",
        wait(2, 2000, 3000),
        call(3, 4000, **message),
        "b 3 1",
        wait(3, 4500, 5000),
        END,
    )
    merge(tmp_path)
    columns = read_recording(stream_path(tmp_path, 0)).columns
    assert columns.batch.tolist() == [NONE, 0, 0, 1]
    assert columns.wait_begin.tolist() == [NONE, 2000, 2000, 4500]
    assert columns.wait_end.tolist() == [NONE, 3000, 3000, 5000]

    nodes = [node for node in read_messages(tmp_path / "trace.0.et") if node.DESCRIPTOR.name == "Node"]
    rows = [(node.name, list(node.data_deps), [a.int64_val for a in node.attr if a.name == "batch"]) for node in nodes]
    assert rows == [
        ("send", [], []),
        ("compute", [], []),  # 0 to 1000
        ("send", [1], [0]),
        ("send", [1], [0]),  # beside the first: nothing comes between them
        ("compute", [1], []),  # 1000 to 2000
        ("compute", [2, 3, 4], []),  # 3000 to 4000, after both
        ("send", [5], [1]),
        ("compute", [5], []),
    ]


def test_the_end_of_a_backward_pass_waits_for_what_it_issued(tmp_path: Path) -> None:
    write(
        tmp_path,
        0,
        meta(0, world=1),
        group([0]),
        call(0, 0, **{"async": 1}),
        {"k": "backward", "ids": [0], "t0": 100, "t1": 300, "thread": 1},
        done(0, 350),  # the callback came late
        END,
    )
    recorded = read_recording(stream_path(tmp_path, 0)).columns
    assert (recorded.wait_begin.tolist(), recorded.wait_end.tolist()) == ([100], [300])
    assert recorded.end.tolist() == [300]


def test_clocks_of_two_machines_are_brought_together(tmp_path: Path) -> None:
    """Rank 1's clock is 1000 ns behind at its start and 1100 at its end: half way, at 5000, 1050."""
    write(tmp_path, 0, meta(0), group([0, 1]), call(0, 6000), wait(0, 6000, 6400), END)
    clocks = [{"k": "clock", "t": t, "offset": offset, "round_trip": 80} for t, offset in ((0, 1000), (10000, 1100))]
    write(
        tmp_path, 1, meta(1, boot="other"), group([0, 1]), clocks[0], call(0, 5000), wait(0, 5000, 5300), clocks[1], END
    )
    summary = merge(tmp_path)
    # Rank 1 begins at 6050, ends at 5300 + 1053 = 6353.
    assert summary.kinds[0].skew_ns == 50
    assert summary.kinds[0].transfer_ns == 6400 - 6050
    assert summary.clock == "ping-pongs, wrong by at most 0.0 us"
    assert summary.clock_residual_ns == 0


def test_a_clock_that_cannot_be_right_is_reported(tmp_path: Path) -> None:
    write(tmp_path, 0, meta(0), group([0, 1]), call(0, 0), wait(0, 0, 400), END)
    write(tmp_path, 1, meta(1), group([0, 1]), call(0, 900), wait(0, 900, 1000), END)
    summary = merge(tmp_path)
    assert summary.clock_residual_ns == 900 - 400
    assert problems(summary) == ["clock"]


@pytest.mark.parametrize(
    ("early", "late"),
    [
        ({"in": 0, "out": 0}, {"in": 0, "out": 0}),  # nobody has anything for anybody
        ({"op": "allgather_", "in": 0, "out": 8}, {"op": "allgather_", "in": 8, "out": 8}),  # some have nothing
        (
            {"op": "alltoall_base_", "in": 8, "out": 8, "in_splits": [8, 0], "out_splits": [8, 0]},
            {"op": "alltoall_base_", "in": 8, "out": 8, "in_splits": [0, 8], "out_splits": [0, 8]},
        ),  # all keep what they have
        ({"op": "broadcast_", "root": 0}, {"op": "broadcast_", "root": 0}),  # the root need wait for nobody
        ({"op": "scatter_", "root": 0}, {"op": "scatter_", "root": 0}),
        ({"op": "reduce_", "root": 1}, {"op": "reduce_", "root": 1}),  # nor does who gives to it
        ({"op": "gather_", "root": 1}, {"op": "gather_", "root": 1}),
    ],
)
def test_what_does_not_meet_may_end_on_one_rank_before_the_other_begins(
    tmp_path: Path, early: Record, late: Record
) -> None:
    write(tmp_path, 0, meta(0), group([0, 1]), call(0, 0, **early), wait(0, 0, 400), END)
    write(tmp_path, 1, meta(1), group([0, 1]), call(0, 900, **late), wait(0, 900, 1000), END)
    summary = merge(tmp_path)
    assert summary.clock_residual_ns == 0
    assert problems(summary) == []
    assert [arrival.of for arrival in summary.arrivals] == [0, 0]


def test_a_collective_of_one_rank_meets_nobody(tmp_path: Path) -> None:
    """Its end is rank 0's own; the same shapes on another group of rank 1 alone are another collective."""
    write(tmp_path, 0, meta(0), group([0]), call(0, 0), wait(0, 0, 400), END)
    write(tmp_path, 1, meta(1), group([1]), call(0, 900), wait(0, 900, 1000), END)
    summary = merge(tmp_path)
    assert summary.clock_residual_ns == 0
    assert [arrival.of for arrival in summary.arrivals] == [0, 0]


def test_disagreements_are_named(tmp_path: Path) -> None:
    head = [meta(0), group([0, 1])]
    write(tmp_path, 0, *head, call(0, 0), wait(0, 0, 9), call(1, 10), wait(1, 10, 19), call(2, 20), END)
    head = [meta(1), group([0, 1])]
    write(tmp_path, 1, *head, call(0, 0, **{"in": 16}), wait(0, 0, 9), call(1, 10, op="barrier"), wait(1, 10, 19), END)
    summary = merge(tmp_path)
    text = "\n".join(summary.problems())
    assert "all_reduce #0 of group 0 (0): bytes is 8 on rank 0, 16 on rank 1" in text
    assert "all_reduce #1 of group 0 (0): kind is all_reduce on rank 0, barrier on rank 1" in text
    assert "all_reduce #2 of group 0 (0): recorded by ranks [0], not by [1]" in text
    assert "rank 0: all_reduce #2 of 0 did not end" in text


def test_messages_without_a_partner_are_named(tmp_path: Path) -> None:
    send = {"op": "send", "peer": 1, "tag": 3, "async": 1}
    write(tmp_path, 0, meta(0), group([0, 1]), call(0, 0, **send), wait(0, 0, 9), END)
    write(tmp_path, 1, meta(1), group([0, 1]), call(0, 0), wait(0, 0, 9), END)
    assert "rank 0 to 1, tag 3: 1 sends, 0 receives" in "\n".join(merge(tmp_path).problems())


def test_groups_are_told_apart_by_members_and_order_not_by_name(tmp_path: Path) -> None:
    """Two groups of the same members, first used in different order by the two ranks, under the same names swapped."""
    first, second = group([0, 1], 0, "x", order=1), group([0, 1], 1, "y", order=2)
    write(tmp_path, 0, meta(0), first, call(0, 0, **{"in": 4}), second, call(1, 9, group=1, seq=0, **{"in": 6}), END)
    first, second = group([0, 1], 1, "y", order=1), group([0, 1], 0, "x", order=2)
    write(tmp_path, 1, meta(1), second, call(0, 0, **{"in": 6}), first, call(1, 9, group=1, seq=0, **{"in": 4}), END)
    summary = merge(tmp_path)
    assert "different" not in problems(summary)
    assert [row.number for row in summary.groups] == [1, 2]  # the world itself was not used
    assert json.loads((tmp_path / "comm_groups.json").read_text()) == {"1": [0, 1], "2": [0, 1]}


def test_messages_that_do_not_end_or_differ_in_size_are_named(tmp_path: Path) -> None:
    send, receive = {"op": "send", "peer": 1, "async": 1}, {"op": "recv_", "peer": 0, "async": 1}
    sends = [call(k, k, **send, **{"in": size, "out": 0}) for k, size in enumerate((8, 8, 24))]
    receives = [call(k, k, **receive, **{"in": 0, "out": size}) for k, size in enumerate((8, 16, 16))]
    write(tmp_path, 0, meta(0), group([0, 1]), *sends, END)  # sends may be forgotten
    anyone = call(3, 3, op="recv_any_source_", **{"async": 1})
    write(tmp_path, 1, meta(1), group([0, 1]), *receives, anyone, wait(0, 4, 9), wait(1, 9, 10), END)
    assert merge(tmp_path).problems() == [
        "incomplete: rank 1: recv from rank 0, tag 0, did not end",
        "incomplete: rank 1: recv from any rank, tag 0, did not end",
        "different: rank 0 to 1, tag 0: message #1: 8 B sent, 16 B received, and 1 more differ",
        "cut: rank 0: its last 2 calls are not in its trace, from message #1 from rank 0 to 1, tag 0, whose ends differ"
        " in size",
        "cut: rank 1: its last 3 calls are not in its trace, from message #1 from rank 0 to 1, tag 0, whose ends differ"
        " in size",
    ]
    network = load("ring:2,bandwidth=50GB/s,latency=500ns")
    simulate_traces(read_traces(tmp_path), network)  # 8 bytes, which both have


def test_each_rank_may_give_another_size_to_an_all_gather_of_a_list(tmp_path: Path) -> None:
    """8 and 16 bytes: what both get is 24, and what is not is named."""
    for rank in (0, 1):
        uneven = call(0, 0, op="allgather_", **{"in": 8 * (rank + 1), "out": 24})
        wrong = call(1, 10, op="allgather_", **{"in": 8 * (rank + 1), "out": 24 + 8 * rank})
        write(tmp_path, rank, meta(rank), group([0, 1]), uneven, wait(0, 0, 9), wrong, wait(1, 10, 19), END)
    (named,) = merge(tmp_path).mismatches
    assert named.message == "all_gather #1 of group 0 (0): bytes is 24 on rank 0, 32 on rank 1"


def test_messages_of_two_groups_are_told_apart(tmp_path: Path) -> None:
    """In both groups tag 3 from rank 0 to 1: 8 bytes in the first, 24 in the second, which rank 1 asks for first."""
    groups = [group([0, 1], 0, "x", order=0), group([0, 1], 1, "y", order=1)]
    message = {"tag": 3, "async": 1}
    sends = [
        call(0, 0, op="send", peer=1, group=0, **message, **{"in": 8}),
        call(1, 1, op="send", peer=1, group=1, **message, **{"in": 24}),
        call(2, 2, op="send", peer=1, group=1, **message | {"tag": 0, "in": 24}),
    ]
    receives = [
        call(0, 0, op="recv_", peer=0, group=1, **message, **{"out": 24}),
        call(1, 1, op="recv_", peer=0, group=0, **message, **{"out": 8}),
        call(2, 2, op="recv_", peer=0, group=1, **message | {"tag": 0, "out": 24}),
    ]
    waits = [wait(identifier, 5, 9) for identifier in range(3)]
    write(tmp_path, 0, meta(0), *groups, *sends, *waits, END)
    write(tmp_path, 1, meta(1), *groups, *receives, *waits, END)
    assert problems(merge(tmp_path)) == []
    found = []
    for trace in read_traces(tmp_path).traces:
        rows = np.flatnonzero(trace.comm_tag >= 0)
        found.append(dict(zip(trace.comm_tag[rows].tolist(), trace.comm_bytes[rows].tolist(), strict=True)))
    # 1 is the least tag that neither group uses.
    assert found == [{3: 8, 1: 24, 0: 24}] * 2

    one_sided = tmp_path / "one_sided"
    write(one_sided, 0, meta(0), *groups, sends[0], wait(0, 5, 9), END)
    write(one_sided, 1, meta(1), *groups, receives[0], wait(0, 5, 9), END)
    text = "\n".join(merge(one_sided).problems())
    assert "rank 0 to 1, tag 3: 1 sends, 0 receives" in text
    assert "rank 0 to 1, tag 3 of group 1: 0 sends, 1 receives" in text


def test_a_missing_rank_is_named_and_the_others_merged(tmp_path: Path) -> None:
    write(tmp_path, 1, meta(1), group([0, 1]), call(0, 0), wait(0, 0, 9), END)
    (tmp_path / "trace.5.et").write_text("of an earlier job")
    summary = merge(tmp_path)
    assert summary.absent == (0,)
    assert "missing: rank 0 recorded nothing" in (tmp_path / "summary.txt").read_text()
    assert sorted(path.name for path in tmp_path.glob("*.et")) == ["trace.1.et"]


def test_the_newest_job_in_a_folder_counts(tmp_path: Path) -> None:
    old = [meta(0, job="old"), group([0, 1]), call(0, 0), wait(0, 0, 9), END]
    new = [meta(0, world=1, job="new", epoch_ns=1), group([0]), call(0, 0), wait(0, 0, 9), END]
    write(tmp_path, 0, *old, *new)
    write(tmp_path, 1, meta(1, job="old"), group([0, 1]), call(0, 0), wait(0, 0, 9), END)
    summary = merge(tmp_path)
    assert summary.world == 1
    assert [row.rank for row in summary.ranks] == [0]


def test_a_receive_from_anyone_learns_its_source_from_the_wait(tmp_path: Path) -> None:
    receive = call(0, 10, op="recv_any_source_", **{"async": 1})
    path = write(tmp_path, 0, meta(0, step=3), group([0, 1]), receive, "a 0 20 5 1 1", call(1, 30, seq=0))
    recording = read_recording(path)
    columns = recording.columns
    assert [recording.shapes[shape].kind for shape in columns.shape] == ["recv", "all_reduce"]
    assert (columns.peer.tolist(), columns.end.tolist()) == ([1, NONE], [25, NONE])
    assert (columns.wait_begin[0], columns.wait_end[0]) == (20, 25)
    assert columns.sequence.tolist() == [-1, 0]
    assert columns.step[0] == 3  # where the session began


def test_a_folder_without_streams_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="is this the folder of a collection"):
        merge(tmp_path)
    write(tmp_path, 0, meta(0), END)
    with pytest.raises(FormatError, match="no rank recorded a collective"):
        merge(tmp_path)


def test_traces_tell_the_steps_that_ended(tmp_path: Path) -> None:
    """Three all_reduces of 1 us, issued at 2, 12 and 22 us; steps 4 and 5 end at 10 and 20 us, the last call is in
    none. Compute across the end of a step is cut there: 0-2 us of step 3's end on, 3-10, 10-12, 13-20, 20-22 us."""
    for rank in (0, 1):
        calls = [(call(n, 2000 + 10_000 * n), wait(n, 2000 + 10_000 * n, 3000 + 10_000 * n)) for n in range(3)]
        ends = [{"k": "step", "n": 3 + n, "t": 10_000 * n} for n in range(3)]
        write(
            tmp_path, rank, meta(rank), group([0, 1]), *chain(*zip(ends, *zip(*calls, strict=True), strict=True)), END
        )
    assert merge(tmp_path).steps == 2
    traces = read_traces(str(tmp_path))
    for trace in traces.traces:
        assert trace.duration_ns.tolist() == [2000, 1000, 7000, 2000, 1000, 7000, 2000, 1000]
        assert step_of_nodes(trace, "").tolist() == [4, 4, 4, 5, 5, 5, NO_STEP, NO_STEP]
    # Simulated, an all_reduce of 8 bytes takes two messages of 4 bytes: 2 * (500 ns + 4 B / 50 GB/s) = 1000.16 ns.
    table = step_table(simulate_traces(traces, load("fully_connected:2,bandwidth=50GB/s,latency=500ns")))
    assert table["step"].tolist() == [4, 5]
    assert table["time_ps"].tolist() == [2_000_000 + 1_000_160 + 7_000_000] * 2


def test_a_thread_that_goes_on_beyond_a_step_is_cut_there_and_one_that_does_not_is_not(tmp_path: Path) -> None:
    """Thread 2 issues at 4 us, thread 1 at 2 and 12 us, steps end at 10 and 13 us: thread 2 ends at 4 us."""
    for rank in (0, 1):
        records = [call(n, t, thread=thread) for n, t, thread in ((0, 2000, 1), (1, 4000, 2))]
        records += [{"k": "step", "n": 0, "t": 10_000}, call(2, 12_000)]
        write(tmp_path, rank, meta(rank), group([0, 1]), *records, {"k": "step", "n": 1, "t": 13_000}, END)
    merge(tmp_path)
    trace = read_traces(str(tmp_path)).traces[0]
    computes = trace.type == NodeType.COMP
    assert trace.duration_ns[computes].tolist() == [2000, 8000, 2000, 1000]  # from 2, 2, 10, 12 us on
    assert step_of_nodes(trace, "")[computes].tolist() == [0, 0, 1, 1]
