"""What calls of a program take and no more: for a contest of many programs at many sizes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from hocket._core.simulator import program_time
from hocket.base.errors import SimulationError
from hocket.schedule import NVIDIA, Pace, Passes, Program, Protocol
from hocket.schedule.flatten import FlatProgram
from hocket.schedule.kernel_links import with_steps
from hocket.schedule.memory import lay_out
from hocket.simulator.fidelity import STANDARD
from hocket.simulator.models import Queueing, Switching, per_link
from hocket.simulator.one_pass import OnePass
from hocket.simulator.placement import check_placement
from hocket.simulator.programs import MAX_NODES, sending
from hocket.topology import Paths, Topology, routing_of

__all__ = ["ProgramTimes"]

#: Passes of so many nodes are simulated, 32 passes at least: those after take as long as the second half of them.
_MOST_NODES = 1 << 20
_LEAST_PASSES = 32


@dataclass(frozen=True, eq=False)
class _Columns:
    """One pass as the engine takes it, and of each message what its bytes depend on."""

    kind: NDArray[np.uint8]
    message: NDArray[np.int32]
    starts: NDArray[np.int32]
    edges: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
    latency: NDArray[np.int32]
    connection: NDArray[np.int32]
    source: NDArray[np.int64]
    destination: NDArray[np.int64]
    channel: NDArray[np.int64]
    chunks: NDArray[np.int64]
    part: NDArray[np.int64]

    @classmethod
    def of(cls, one: OnePass) -> "_Columns":
        source, destination, channel = np.array(one.flat.connections, np.int64).reshape(-1, 3)[one.message_connection].T
        return cls(
            kind=one.kind.astype(np.uint8),
            message=one.message.astype(np.int32),
            starts=one.starts.astype(np.int32),
            edges=one.edges,
            latency=one.latency.astype(np.int32),
            connection=one.message_connection.astype(np.int32),
            source=source,
            destination=destination,
            channel=channel,
            chunks=one.message_chunks,
            part=one.message_part,
        )


class ProgramTimes:
    """Of a program whose thread blocks run on a topology, rank r on its rank `placement[r]` (None: r). What does not
    depend on a call's size is found once.

    Raises ScheduleError for a program that breaks a rule of structure, DeadlockError for one that waits for what never
    happens, SimulationError for messages without receivers and a placement that is none.
    """

    def __init__(self, program: Program, topology: Topology, placement: Sequence[int] | None = None) -> None:
        ranks = program.num_ranks
        self.program, self._topology = program, topology
        self._group = np.array(
            range(ranks) if placement is None else check_placement(placement, ranks, topology), np.int32
        )
        self._flat = FlatProgram(program, lay_out(program, program.in_place))
        self._machine = topology.machine[self._group[self._group < topology.num_ranks]].tolist()
        self._largest = Passes.largest_message(program)
        self._columns: dict[tuple[int, int, int], _Columns] = {}
        self._steady: dict[tuple[int, str, int, Pace | None], list[int | None]] = {}

    def at(
        self,
        size_bytes: int,
        protocols: Mapping[str, Protocol] = NVIDIA,
        protocol: str | None = None,
        instances: int = 1,
    ) -> int | None:
        """What a call of `size_bytes` by another protocol (None: its own) takes, in ps, as `simulate_program` says: of
        so many `instances` of it beside each other, each with a part of the bytes and channels of its own.

        None where it takes `simulate_program` to tell: where the protocol has no pace, where routes depend on more than
        the ranks at their ends, where it never ends, and where there would be too many nodes.

        Instances do alike: they begin together, their messages take the same links at the same times, and links are
        shared by what is on them, in whatever order it came. So one is simulated whose messages count as many.

        Of many passes of a large program the first are simulated, and the others take as long as the later of these.
        """
        program = self.program if protocol is None else replace(self.program, protocol=protocol)
        pace = protocols[program.protocol].pace
        if pace is None or self._topology.num_ranks <= self._group.max(initial=-1):
            return None
        share, rest = divmod(size_bytes, instances)
        if rest:
            raise SimulationError(f"{program.name}: {size_bytes} bytes have no {instances} equal parts")
        passes = Passes.of(program, share, protocols, self._machine, self._largest)
        network = _network(self._topology, pace, self._sending.tobytes(), self._ends.tobytes())
        if network is None:
            return None
        columns = self._of(passes)
        half = max(_MOST_NODES // len(columns.kind), _LEAST_PASSES) // 2
        if len(passes) > 2 * half:
            steady = half * int(passes.chunk_bytes[0, 0]) * program.chunks_per_loop * instances
            key = steady, program.protocol, instances, pace
            if key not in self._steady:
                self._steady[key] = [self.at(count * steady, protocols, protocol, instances) for count in (1, 2)]
            first, both = self._steady[key]
            if first is None or both is None:
                return None
            return both + (both - first) * (size_bytes - 2 * steady) // steady
        if len(columns.kind) * len(passes) > MAX_NODES:
            return None
        found = _time_ps(columns, passes, network, instances)
        return None if found < 0 else found

    @cached_property
    def _sending(self) -> NDArray[np.int32]:
        return sending(self.program, self._group.tolist())

    @cached_property
    def _ends(self) -> NDArray[np.int32]:
        """The topology's ranks at the ends of each connection."""
        return self._group[np.array(self._flat.connections, np.int64).reshape(-1, 3)[:, :2]]

    def _of(self, passes: Passes) -> _Columns:
        assert passes.pace is not None
        most = min(passes.chunks_per_message, self._largest)  # larger ones cut nothing either
        key = most, passes.fifo_depth, passes.pace.buffers
        if key not in self._columns:
            cut = replace(passes, chunks_per_message=most)
            self._columns[key] = _Columns.of(OnePass(self.program, cut, self._flat))
        return self._columns[key]


@dataclass(frozen=True, eq=False)
class _Network:
    """The links as the steps of a protocol see them, and the paths of each connection."""

    topology: Topology
    paths: Paths


@lru_cache(maxsize=256)
def _network(topology: Topology, pace: Pace, sending: bytes, ends: bytes) -> _Network | None:
    """None where a message's path depends on more than its ends. `sending`: the ranks (int32) that send to each other;
    `ends`: those of each connection."""
    seen = with_steps(topology, pace, np.frombuffer(sending, np.int32).reshape(-1, 2))
    routing = routing_of(seen)
    if routing.policy.seeded or routing.policy.chooses:
        return None
    pairs = np.frombuffer(ends, np.int32).reshape(-1, 2).astype(np.int64)
    return _Network(seen, routing.paths(seen, pairs, np.zeros(len(pairs), np.int64)))


def _time_ps(columns: _Columns, passes: Passes, network: _Network, instances: int) -> int:
    pace = passes.pace
    assert pace is not None
    # channels of an interpreter's program have as many bytes in a pass, which most passes have
    _, first, row = np.unique(passes.chunk_bytes[:, 0], return_index=True, return_inverse=True)
    distinct = replace(passes, chunk_bytes=passes.chunk_bytes[first])
    data = distinct.message_bytes(columns.channel, columns.chunks, columns.part)
    ends = columns.source, columns.destination
    wire = pace.wire_bytes(-(-data * passes.wire.numerator // passes.wire.denominator), *ends)
    before, after, lag = columns.edges
    topology = network.topology
    return program_time(
        kind=columns.kind,
        message=columns.message,
        starts=columns.starts,
        before=before,
        after=after,
        lag=lag,
        latency=columns.latency,
        row=row.astype(np.int32),
        connection=columns.connection,
        bytes=np.ascontiguousarray(wire).ravel(),
        busy_ps=np.ascontiguousarray(pace.busy_ps(data, *ends)).ravel(),
        latency_ps=np.ascontiguousarray(pace.latency_ps(data, *ends)).ravel(),
        launch_ps=pace.start_ps,
        paths=network.paths,
        graph=topology.graph,
        stores=per_link(STANDARD.switching, Switching, topology),
        queueing=per_link(STANDARD.queueing, Queueing, topology),
        alike=instances,
    )
