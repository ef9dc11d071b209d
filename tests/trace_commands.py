"""The `hocket trace` command for tests, and traces to run it on."""

from pathlib import Path
from subprocess import CompletedProcess

import in_process

from hocket.chakra import CollectiveType, TraceBuilder, TraceSet, write_traces
from hocket.chakra.trace import Trace


def hocket(*arguments: object) -> CompletedProcess[str]:
    return in_process.hocket("trace", *arguments)


def training(rank: int, num_steps: int = 4, size: int = 1 << 20) -> Trace:
    """A rank of four: each step computes, passes a message round the ring, sums up in its half, {0, 1} or {2, 3}, and
    among all, and computes; ids 6 * step up to 6 * step + 5, a node each 100 us."""
    builder = TraceBuilder({"rank": rank, "world_size": 4, "script": "secret.py"})
    last: list[int] = []

    def common() -> dict[str, object]:
        return {"start_us": 100 * len(builder), "duration_ns": 50_000, "deps": last}

    for step in range(num_steps):
        builder.begin_step(step)
        last = [builder.add_comp("private.layer", **common())]
        sent = builder.add_send("send", 8, src=rank, dst=(rank + 1) % 4, tag=step, **common())
        received = builder.add_recv("recv", 8, src=(rank - 1) % 4, dst=rank, tag=step, **common())
        last = [sent, received]
        last = [
            builder.add_collective(
                "secret sum", CollectiveType.ALL_REDUCE, size, group=f"half{rank // 2}", dtype="float32", **common()
            )
        ]
        last = [builder.add_collective("all", CollectiveType.ALL_REDUCE, 64, **common())]
        last = [builder.add_comp("optimizer", **common())]
    return builder.build()


def write_training(folder: Path, num_steps: int = 4, size: int = 1 << 20) -> Path:
    groups = {"half0": (0, 1), "half1": (2, 3)}
    write_traces(folder, TraceSet(tuple(training(rank, num_steps, size) for rank in range(4)), groups))
    return folder
