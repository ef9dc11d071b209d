"""A schedule as Chakra graphs, one a rank: what ASTRA-sim runs as a custom collective (`*-implementation-custom`)."""

from pathlib import Path

from hocket.base.errors import RequestError, ScheduleError
from hocket.base.files import is_streamed
from hocket.chakra import write_traces
from hocket.chakra.builder import TraceBuilder
from hocket.chakra.trace import TraceSet
from hocket.schedule import Schedule, dependencies
from hocket.translator.formats.format import ScheduleFormat

__all__ = ["FORMATS", "schedule_graphs"]


def schedule_graphs(schedule: Schedule) -> TraceSet:
    """A send and a receive for each transfer, in the ranks' own numbering; message k between two ranks has tag k.

    A send depends on the receives of what it sends. To keep the order on a connection it also follows the send before
    it (blocking links) or the one two before: ASTRA-sim's sends are done when they arrive, and each would otherwise pay
    the latency. Sizes are those of the schedule: ASTRA-sim ignores the size of the collective it stands for. Reductions
    take no time.

    Raises ScheduleError for chunks without bytes, which ASTRA-sim cannot send, and chunks that others pass on.
    """
    collective = schedule.collective
    if len(schedule.relay_nodes) and (schedule.dst >= collective.num_ranks).any():
        raise ScheduleError("only the ranks of a collective have graphs, and here others pass chunks on or add them up")
    if schedule.num_transfers and int(collective.chunk_bytes[schedule.chunk].min()) == 0:
        raise ScheduleError("a chunk without bytes: ASTRA-sim sends at least one; take a larger size or fewer chunks")
    builders = [TraceBuilder({"world_size": collective.num_ranks}) for _ in range(collective.num_ranks)]
    offset, waits = dependencies(schedule)
    received: list[int] = [0] * schedule.num_transfers
    sends: dict[tuple[int, int], list[int]] = {}
    behind = 1 if schedule.blocking else 2
    columns = (schedule.chunk, schedule.src, schedule.dst, collective.chunk_bytes[schedule.chunk])
    for transfer, (chunk, src, dst, num_bytes) in enumerate(zip(*(each.tolist() for each in columns), strict=True)):
        before = sends.setdefault((src, dst), [])
        tag, name = len(before), f"chunk {chunk}"
        deps = [received[wait] for wait in waits[offset[transfer] : offset[transfer + 1]].tolist()]
        before.append(
            builders[src].add_send(
                name,
                num_bytes,
                src=src,
                dst=dst,
                tag=tag,
                deps=deps,
                ctrl_deps=before[-behind : len(before) - behind + 1],
            )
        )
        received[transfer] = builders[dst].add_recv(name, num_bytes, src=src, dst=dst, tag=tag)
    return TraceSet(tuple(builder.build() for builder in builders), {})


def _write(schedule: Schedule, prefix: Path) -> list[str]:
    if is_streamed(prefix):
        raise RequestError(f"--output {prefix}: several files are written, a rank each: name a prefix for them")
    graphs = schedule_graphs(schedule)
    write_traces(prefix.parent, graphs, prefix.name, profile="astra-sim")
    kind = schedule.collective.kind.replace("_", "-")
    return [
        f"{prefix}.<rank>.et: a graph for each of {graphs.num_ranks} ranks, for this size only",
        f'in the system JSON: "{kind}-implementation-custom": ["{prefix}"]',
    ]


FORMATS = (
    ScheduleFormat(
        name="chakra",
        summary="Chakra graphs, a file per rank, which ASTRA-sim runs as a custom collective",
        needs="chunks that only its ranks pass on",
        source="ASTRA-sim's system layer",
        example="hocket translate ar.schedule --to chakra -o graphs/ar",
        write=_write,
    ),
)
