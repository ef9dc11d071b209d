"""How long it takes to make a workload from the traces of a large job, and what memory that needs.

Half of the nodes communicate: tensor-parallel groups of 8 ranks, data-parallel ones across them, messages.

Run: python -m hocket.bench.workload_speed
"""

import time

from hocket.base.memory import peak_rss_bytes
from hocket.bench.command_line import command_line
from hocket.chakra import CollectiveType, Trace, TraceBuilder, TraceSet
from hocket.simulator.traces import Hardware, workload_of

RANKS, LAYERS, GROUP = 1024, 300, 8


def main() -> None:
    """Prints nodes, collectives, messages, CPU seconds and peak memory."""
    groups = {f"tp{k}": tuple(range(GROUP * k, GROUP * k + GROUP)) for k in range(RANKS // GROUP)}
    groups |= {f"dp{k}": tuple(range(k, RANKS, GROUP)) for k in range(GROUP)}
    traces = TraceSet(tuple(_rank(rank) for rank in range(RANKS)), groups)
    held = _peak_mib()
    begin = time.process_time()
    workload = workload_of(traces, 1, Hardware())
    seconds = time.process_time() - begin
    print(
        f"{len(workload.kind)} nodes of {RANKS} ranks, {len(workload.call_of)} collectives,"
        f" {len(workload.message_src)} messages: {seconds:.2f} s; traces {held} MiB, peak {_peak_mib()} MiB"
    )


def _rank(rank: int) -> Trace:
    builder = TraceBuilder()
    last: list[int] = []
    for layer in range(LAYERS):
        first = builder.add_comp("attention", duration_ns=1_000 + layer, deps=last)
        summed = builder.add_collective(
            "all_reduce", CollectiveType.ALL_REDUCE, 2**20, group=f"tp{rank // GROUP}", deps=[first]
        )
        second = builder.add_comp("mlp", duration_ns=1_000, deps=[summed])
        if layer % 2:
            group = f"dp{rank % GROUP}"
            last = [builder.add_collective("all_gather", CollectiveType.ALL_GATHER, 2**12, group=group, deps=[second])]
        else:
            add = builder.add_send if rank % 2 else builder.add_recv
            last = [add("message", 4_096, src=rank | 1, dst=rank & ~1, tag=layer, deps=[second])]
    return builder.build()


def _peak_mib() -> int:
    return peak_rss_bytes() // 2**20


if __name__ == "__main__":
    command_line().parse_args()
    main()
