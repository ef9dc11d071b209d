"""What a kernel over switches that compute does, as a workload: every message of every pass.

- A move of several sources climbs a tree of switches, of several targets descends one: a message a link between ranks
  and switches that compute, each switch sending when all that it sums has come. Whole chunks are stored there; the
  chunks of other channels pass meanwhile.
- Works of a GPU on chunks take their bytes at its bandwidth, one after the other. The longer of that, of a move's
  latency and of what the network takes counts: measured latencies contain the wire's.
"""

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import SimulationError
from hocket.chakra.steps import NO_STEP
from hocket.schedule import Kernel, Schedule
from hocket.schedule.algorithms.place import Place
from hocket.simulator.kernel_nodes import OWN, KernelNodes
from hocket.simulator.pass_rows import PassRows
from hocket.simulator.workload import NodeKind, Workload
from hocket.topology import routes

__all__ = ["KernelPasses"]

_NAMES = ("work", "move")
_MAX_NODES = 1 << 26  # a few GB
_PICOSECONDS = 10**12


class KernelPasses:
    """A kernel on a topology: rank r of it is the r-th rank of `place`. Messages go between nodes of the topology.

    Raises TopologyError or ScheduleError where no switch computes for the ranks that need one, and SimulationError for
    a call of more messages and works than fit.
    """

    def __init__(self, kernel: Kernel, place: Place) -> None:
        self.kernel, self._place = kernel, place
        self._nodes = nodes = KernelNodes(kernel, place)
        if len(nodes.rank) * kernel.passes > _MAX_NODES:
            raise SimulationError(
                f"{kernel.name}: {kernel.passes} passes over {len(nodes.rank)} messages and works are more than the"
                f" {_MAX_NODES} that fit; take a smaller size"
            )
        self._rows = PassRows(np.array(nodes.rank, np.int64), kernel.num_ranks, kernel.passes)
        self._carried = np.flatnonzero(np.array(nodes.src) >= 0)  # nodes that are messages

    def workload(self) -> Workload:
        """All passes."""
        kernel, nodes, rows, messages = self.kernel, self._nodes, self._rows, self._carried
        kind, chunk = np.array(nodes.kind), np.array(nodes.chunk)
        works = np.flatnonzero(kind == NodeKind.MEMORY)
        size = np.where(chunk >= 0, kernel.chunk_bytes[:, chunk], 0)
        operand = np.zeros_like(size) + np.where(kind == NodeKind.DELAY, np.array(nodes.latency_ps, np.int64), 0)
        for numbered in (messages, works):
            operand[:, numbered] = np.arange(kernel.passes * len(numbered)).reshape(kernel.passes, -1)
        before, after, lag = np.array(nodes.edges, np.int64).reshape(-1, 3).T
        dependency_offset, dependency = rows.dependencies((before, after, lag))
        none = np.zeros(0, np.int32)

        def each_pass(values: list[int], of: NDArray[np.int64]) -> NDArray[np.int64]:
            return np.tile(np.array(values, np.int64)[of], kernel.passes)

        service = -(-size[:, works].ravel().astype(object) * _PICOSECONDS // kernel.bandwidth).astype(np.int64)
        return Workload(
            rank_offset=rows.offset,
            kind=rows.column(kind).astype(np.uint8),
            operand=rows.column(operand),
            member=np.zeros(rows.total, np.int32),
            node_id=rows.column(np.arange(size.size).reshape(size.shape)).astype(np.uint64),
            name=rows.column((kind == NodeKind.SEND).astype(np.int64)).astype(np.int32),
            step=np.full(rows.total, NO_STEP, np.int64),
            strings=_NAMES,
            dependency_offset=dependency_offset,
            dependency=dependency,
            calls=(),
            call_of=none,
            groups=(),
            group_of=none,
            message_src=each_pass(nodes.src, messages).astype(np.int32),
            message_dst=each_pass(nodes.dst, messages).astype(np.int32),
            message_tag=each_pass(nodes.chunk, messages),
            message_bytes=size[:, messages].ravel(),
            call_priority=none,
            message_priority=np.zeros(kernel.passes * len(messages), np.int32),
            message_crossing=each_pass(nodes.crossing, messages).astype(np.int32),
            message_channel=each_pass(nodes.chunk, messages),
            crossings=tuple(nodes.crossings),
            access_memory=each_pass(nodes.rank, works).astype(np.int32),
            access_service_ps=service,
            access_latency_ps=each_pass(nodes.latency_ps, works),
        )

    def schedule(self, start_ps: NDArray[np.int64], finish_ps: NDArray[np.int64]) -> Schedule:
        """The messages of `workload()`, when its nodes start and finish so, as an untimed schedule whose steps are
        picoseconds: what `verify` proves of it holds for the call. What a rank gets back of its own through a switch is
        left out."""
        nodes, kernel = self._nodes, self.kernel
        valued = self._carried[np.array(nodes.reduce)[self._carried] != OWN]
        row = self._rows.of(valued)
        chunk = np.arange(kernel.passes)[:, None] * kernel.chunk_bytes.shape[1] + np.array(nodes.chunk)[valued]
        start = start_ps[row].ravel()
        order = np.argsort(start, kind="stable")
        ends = np.stack([np.array(nodes.src)[valued], np.array(nodes.dst)[valued]], axis=1)
        pairs, route = np.unique(ends, axis=0, return_inverse=True)
        offset, links = routes(self._place.topology.graph, [(int(src), int(dst)) for src, dst in pairs])
        return Schedule(
            collective=kernel.chunks,
            topology=self._place.topology,
            route_offset=offset,
            route_links=links,
            chunk=chunk.ravel()[order].astype(np.int32),
            route=np.broadcast_to(route.ravel(), chunk.shape).ravel()[order].astype(np.int32),
            reduce=np.broadcast_to(np.array(nodes.reduce)[valued] == 1, chunk.shape).ravel()[order],
            start_ps=start[order],
            finish_ps=finish_ps[row].ravel()[order],
            timed=False,
            blocking=False,
            bound=None,
            generator=kernel.name,
            seed=None,
            group=self._place.ranks,
        )
