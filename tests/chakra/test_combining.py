"""Several jobs on one network."""

import json
from pathlib import Path

import numpy as np
import pytest
from in_process import hocket

from hocket.base.errors import TraceError
from hocket.chakra import CollectiveType, TraceSet, read_traces, write_traces
from hocket.chakra.builder import TraceBuilder
from hocket.chakra.combining import Combination
from hocket.chakra.job_metadata import described_groups
from hocket.chakra.reading import TraceFiles
from hocket.chakra.validate import validate
from hocket.simulator import simulate_traces
from hocket.topology import load

RING = "ring:8,bandwidth=10GB/s,latency=1us"


def write_job(folder: Path, ranks: int, size: int, group: str = "") -> None:
    """An all_reduce of all ranks, then a message from the first to the last."""
    traces = []
    for rank in range(ranks):
        builder = TraceBuilder({"rank": rank, "world_size": ranks})
        node = builder.add_collective("sum", CollectiveType.ALL_REDUCE, size, group=group)
        if rank == 0:
            builder.add_send("send", size, src=0, dst=ranks - 1, tag=1, deps=[node])
        elif rank == ranks - 1:
            builder.add_recv("receive", size, src=0, dst=ranks - 1, tag=1, deps=[node])
        traces.append(builder.build())
    write_traces(folder, TraceSet(tuple(traces), {group: tuple(range(ranks))} if group else {}))


def finish_ps(folder: Path, ranks: list[int]) -> int:
    return int(simulate_traces(read_traces(folder), load(RING)).finish_ps[ranks].max())


def test_one_job_slows_the_other_where_they_share_links(tmp_path: Path) -> None:
    write_job(tmp_path / "one", 4, 1 << 20)
    write_job(tmp_path / "two", 4, 1 << 26, "dp")
    apart, mixed = ["--place", "0-3", "--place", "4-7"], ["--place", "0,2,4,6", "--place", "1,3,5,7"]
    for name, place in (("apart", apart), ("mixed", mixed)):
        done = hocket("trace", "combine", "one", "two", *place, "-o", name, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert validate(read_traces(tmp_path / name)) == []
    alone = tmp_path / "alone"
    assert hocket("trace", "combine", "one", "--place", "0,2,4,6", "-o", "alone", cwd=tmp_path).returncode == 0
    # On every second rank of a ring its messages take two links each, which the other job's messages take as well.
    assert finish_ps(tmp_path / "mixed", [0, 2, 4, 6]) > 2 * finish_ps(alone, [0, 2, 4, 6])
    groups = json.loads((tmp_path / "mixed" / "comm_groups.json").read_text())
    assert groups == {"world@one": [0, 2, 4, 6], "world@two": [1, 3, 5, 7], "dp@two": [1, 3, 5, 7]}


def test_ranks_in_nodes_are_those_of_the_whole_and_others_are_idle(tmp_path: Path) -> None:
    write_job(tmp_path / "one", 3, 1000)
    whole = Combination([TraceFiles.of_job(tmp_path / "one")], ["one"], [[5, 1, 3]])
    blocks = {rank: next(whole.blocks(rank)) for rank in range(whole.num_ranks)}
    assert [len(blocks[rank]) for rank in range(6)] == [0, 1, 0, 2, 0, 2]
    assert blocks[5].comm_dst.tolist() == [-1, 3]
    assert blocks[3].comm_src.tolist() == [-1, 5]
    assert blocks[1].metadata["rank"] == 1 and blocks[1].metadata["world_size"] == 6
    assert blocks[1].text(blocks[1].process_group, 0) == "world@one"
    assert np.all(blocks[1].comm_bytes == 1000)


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    write_job(tmp_path / "one", 2, 1000)
    job = TraceFiles.of_job(tmp_path / "one")
    for names, ranks, message in (
        (["a", "b"], [[0, 1], [1, 2]], "rank 1 is of job 'b' and of 'a'"),
        (["a", "a"], [[0, 1], [2, 3]], "two jobs are called 'a'"),
        (["a", "b"], [[0, 1], [2]], "job 'b' has 2 ranks, and is placed on 1"),
    ):
        with pytest.raises(TraceError, match=message):
            Combination([job, job], names, ranks)
    done = hocket("trace", "combine", "one", "one", "--place", "0-1", "-o", "x", cwd=tmp_path)
    assert done.returncode == 2 and "--place is given 1 times for 2 jobs" in done.stderr


def test_metadata_say_which_job_a_rank_is_of_and_what_its_groups_are_for(tmp_path: Path) -> None:
    """Also of a combination in a combination, and where a block does not use the group that is described."""
    told = {"rank": 0, "world_size": 2, "group_descriptions": ["0=default_pg", "1=mesh_tp", "7=mesh_dp"]}
    builders = [TraceBuilder(told | {"rank": rank}) for rank in range(2)]
    for builder in builders:
        builder.add_collective("sum", CollectiveType.ALL_REDUCE, 1000, group="1")
    traces = TraceSet(tuple(builder.build() for builder in builders), {"1": (0, 1), "7": (0, 1)})
    write_traces(tmp_path / "one", traces)
    write_job(tmp_path / "two", 3, 1000)
    for parts, name in ((["one", "two"], "pair"), (["pair", "two"], "whole")):
        assert hocket("trace", "combine", *parts, "-o", name, cwd=tmp_path).returncode == 0
    pair, whole = (read_traces(tmp_path / name).traces for name in ("pair", "whole"))
    assert [(each.metadata["job"], each.metadata["job_world_size"]) for each in pair] == [("one", 2)] * 2 + [
        ("two", 3)
    ] * 3
    assert described_groups(pair[0].metadata) == {"world@one": "default_pg", "1@one": "mesh_tp", "7@one": "mesh_dp"}
    assert [each.metadata["job"] for each in whole] == ["one@pair"] * 2 + ["two@pair"] * 3 + ["two"] * 3
    assert [each.metadata["job_world_size"] for each in whole] == [2] * 2 + [3] * 6
    assert {each.metadata["world_size"] for each in whole} == {8}
