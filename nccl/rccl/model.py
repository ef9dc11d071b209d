"""What RCCL chooses on a machine of AMD's, or a cluster of such machines, and how long it thinks that takes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hocket.nccl.model import Choices, Term
from hocket.nccl.names import COLLECTIVES, EVERY_ALGORITHM, PROTOCOLS
from hocket.nccl.rccl.choosing import DIRECT, RcclChoice, choose
from hocket.nccl.rccl.machine import arch_of, cluster_of, most_channels
from hocket.nccl.rccl.terms import RING, TREE, bandwidth_gbs, latency_us, time_us
from hocket.topology.formats.nccl.machine import NcclMachine

if TYPE_CHECKING:
    from hocket.nccl.rccl.terms import Cluster

__all__ = ["RcclModel"]

_ON_ONE_NODE = "is for several nodes"
_NO_KERNEL = "does not do the collective"
_OFF = "RCCL has it off inside a node"


class RcclModel:
    """The choices of RCCL 2.28.3 on `nodes` machines like this one, without variables of its environment set.

    Times are those of its model for what it takes; of a direct AllGather it has none (nan). Raises TopologyError,
    naming the file, for machines whose rings it does not know by heart: its search is not modelled.
    """

    def __init__(self, machine: NcclMachine, nodes: int = 1) -> None:
        self.machine, self.nodes = machine, nodes
        self.arch = arch_of(machine)
        self.cluster: Cluster = cluster_of(machine, nodes)

    @property
    def ranks(self) -> int:
        return self.cluster.ranks

    @property
    def most_channels(self) -> int:
        """On how many channels kernels run at most."""
        return most_channels(self.arch, self.nodes)

    def choose(self, collective: str, sizes: Sequence[int] | NDArray[np.int64], operations: int = 1) -> Choices:
        """The choices for sizes in bytes, of `operations` like collectives in one group of calls."""
        columns = np.array(sizes, np.int64)
        number = COLLECTIVES.index(collective)
        found = self._choices(collective, columns.tolist(), operations)
        times = [
            np.float32(np.nan)
            if each.algorithm == DIRECT
            else time_us(self.cluster, number, each.algorithm, each.protocol, size, operations)
            for each, size in zip(found, columns.tolist(), strict=True)
        ]
        return Choices(
            collective,
            columns,
            np.array([each.algorithm for each in found], np.int32),
            np.array([each.protocol for each in found], np.int32),
            np.array(times, np.float32),
            np.array([each.channels for each in found], np.int32),
            np.array([each.warps for each in found], np.int32),
        )

    def expected_us(self, collective: str, sizes: Sequence[int]) -> list[float]:
        """What RCCL says it expects of each size in bytes: the time of what is quickest by its model, which it says
        whatever its rules take."""
        return [float(each.time_us) for each in self._choices(collective, sizes, 1)]

    def override(self, collective: str, size: int, operations: int = 1) -> tuple[str, str] | None:
        """What is quickest by RCCL's model for a size in bytes (`Ring/LL`), and the rule by which it takes another;
        None where it takes that."""
        (found,) = self._choices(collective, [size], operations)
        algorithm, protocol = found.quickest
        return (f"{EVERY_ALGORITHM[algorithm]}/{PROTOCOLS[protocol]}", found.rule) if found.rule else None

    def _choices(self, collective: str, sizes: Sequence[int], operations: int) -> list[RcclChoice]:
        number = COLLECTIVES.index(collective)
        return [choose(self.arch, self.most_channels, self.cluster, number, size, operations) for size in sizes]

    def terms(self, collective: str, size: int, operations: int = 1) -> list[Term]:
        """Trees and rings with every protocol, for a size in bytes."""
        number = COLLECTIVES.index(collective)
        found = []
        for algorithm in (TREE, RING):
            for protocol, name in enumerate(PROTOCOLS):
                bandwidth = float(bandwidth_gbs(self.cluster, number, algorithm, protocol))
                if not bandwidth:
                    out = self._why_out(collective, algorithm, name)
                    found.append(Term(EVERY_ALGORITHM[algorithm], name, out, 0.0, 0.0, 0.0))
                    continue
                latency = float(latency_us(self.cluster, number, algorithm, protocol))
                time = float(time_us(self.cluster, number, algorithm, protocol, size, operations))
                found.append(Term(EVERY_ALGORITHM[algorithm], name, "", latency, bandwidth, time))
        return found

    def _why_out(self, collective: str, algorithm: int, protocol: str) -> str:
        if algorithm == TREE and collective != "AllReduce":
            return _NO_KERNEL
        return _ON_ONE_NODE if protocol == "LL128" else _OFF
