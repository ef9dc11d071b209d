"""A job of four ranks with every kind of communication, for the tests of the replay."""

from pathlib import Path
from typing import Any

from hocket.chakra import CollectiveType, Trace, TraceBuilder, TraceSet, write_trace
from hocket.chakra.groups import write_groups

GROUPS = {"0": (0, 1, 2, 3), "1": (0, 2), "2": (1, 3)}


def every_kind() -> TraceSet:
    """Compute, all collectives at once (those of the whole group, then of halves), and a chain of messages."""
    return TraceSet(tuple(_trace(rank) for rank in range(4)), GROUPS)


def write(folder: Path, job: TraceSet) -> Path:
    folder.mkdir(exist_ok=True)
    for rank, trace in enumerate(job.traces):
        write_trace(folder / f"trace.{rank}.et", trace)
    write_groups(folder / "comm_groups.json", job.groups)
    return folder


def _trace(rank: int) -> Trace:
    kind, builder = CollectiveType, TraceBuilder()
    forward = builder.add_comp("forward", duration_ns=1_000_000 * rank)
    common: dict[str, Any] = {"deps": [forward]}
    whole = common | {"group": "0"}
    calls = [
        builder.add_collective("all_reduce", kind.ALL_REDUCE, 4096, dtype="float32", **whole),
        builder.add_collective("all_gather", kind.ALL_GATHER, 1024, dtype="float64", **whole),
        builder.add_collective("reduce_scatter", kind.REDUCE_SCATTER, 4096, dtype="float32", **whole),
        builder.add_collective("all_to_all", kind.ALL_TO_ALL, 4096, dtype="int64", **whole),
        # 10 units for the members, of 8 bytes times rank + 1 each
        builder.add_collective(
            "uneven", kind.ALL_TO_ALL, 80 * (rank + 1), dtype="float64", in_splits=[1, 2, 3, 4], **whole
        ),
        builder.add_collective("broadcast", kind.BROADCAST, 512, dtype="uint8", root=1, **whole),
        builder.add_collective("reduce", kind.REDUCE, 512, dtype="int32", root=2, **whole),
        builder.add_collective("gather", kind.GATHER, 256, dtype="float32", root=3, **whole),
        builder.add_collective("scatter", kind.SCATTER, 1024, dtype="float32", root=0, **whole),
        builder.add_collective("barrier", kind.BARRIER, 0, **whole),
        builder.add_collective("half", kind.ALL_REDUCE, 64, dtype="float32", group=str(1 + rank % 2), **common),
    ]
    last = builder.add_comp("backward", duration_ns=500_000, deps=calls)
    messages = []
    if rank < 3:
        messages.append(builder.add_send("send", 2048, src=rank, dst=rank + 1, tag=70_000, deps=[last]))
    if rank > 0:
        messages.append(builder.add_recv("recv", 2048, src=rank - 1, dst=rank, tag=70_000, deps=[last]))
    builder.add_comp("end", duration_ns=100_000, deps=messages)
    return builder.build()
