"""What stock NCCL chooses on a machine, or a cluster of such machines, and how long it thinks that takes.

Our own implementation of NCCL's path computation, channel search and analytical model, of 2.27 to 2.31
(docs/nccl-model.md names the source files); the engine does the work.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from hocket._core.nccl import Given, Model, Settings
from hocket.base.errors import HocketError, TopologyError
from hocket.nccl.constants import Constants
from hocket.nccl.elements import elements_of
from hocket.nccl.graph_file import graph_file_channels
from hocket.nccl.names import ALGORITHMS, COLLECTIVES, EVERY_ALGORITHM, PROTOCOLS
from hocket.nccl.releases import Release, release_of_code
from hocket.topology.formats.nccl.graph import GraphId, NcclGraphs
from hocket.topology.formats.nccl.machine import NcclMachine

if TYPE_CHECKING:
    from hocket._core.nccl import Graph

_GRAPHS = {"Ring": GraphId.RING, "Tree": GraphId.TREE, "NVLS": GraphId.NVLS}
_COLLNET_GRAPHS = {"CollNetChain": GraphId.COLLNET_CHAIN, "CollNetDirect": GraphId.COLLNET_DIRECT}

__all__ = ["OUT", "Choices", "MeasuredTimes", "NcclModel", "Term"]

# Why an algorithm with a protocol is out, by the engine's number.
OUT = (
    "",
    "does not do the collective",
    "has no such kernel",
    "is for several nodes",
    'needs CollNet (SHARP): NCCL_COLLNET_ENABLE=1, coll="1" of the <net>s, and several nodes',
    "needs NVSwitches, GPUs of sm 90, and NCCL_NVLS_ENABLE not 0",
    "needs one GPU per node, or NCCL_PAT_ENABLE=1",
    "LL128 needs NVLink inside, and up to PXB (sm 90: PXN) to the NICs",
    "NCCL_ALGO",
    "NCCL_PROTO",
    "is for fewer GPUs per node",
    'needs a NIC with coll="1" of its own for every GPU',
    'begins at GPUs without a NIC with coll="1"',
    "needs NVSwitches",
    "has no channels in this release",
)


@dataclass(frozen=True, eq=False)
class Choices:
    """What NCCL does for each of `bytes` (int64, NCCL's: of all_gather and reduce_scatter the whole buffer).

    `algorithm` and `protocol` are indices into EVERY_ALGORITHM and PROTOCOLS, `time_us` (float32) the model's estimate,
    `channels` those that the kernel runs on, `warps` those of a block.
    """

    collective: str
    bytes: NDArray[np.int64]
    algorithm: NDArray[np.int32]
    protocol: NDArray[np.int32]
    time_us: NDArray[np.float32]
    channels: NDArray[np.int32]
    warps: NDArray[np.int32]

    def name(self, at: int) -> str:
        """`Ring/LL128`."""
        return f"{EVERY_ALGORITHM[self.algorithm[at]]}/{PROTOCOLS[self.protocol[at]]}"

    def points(self) -> list[int]:
        """Positions at which algorithm or protocol become another, the first included."""
        kind = self.algorithm * len(PROTOCOLS) + self.protocol
        return [0, *(np.flatnonzero(np.diff(kind)) + 1).tolist()]


@dataclass(frozen=True, slots=True)
class Term:
    """One algorithm with one protocol: `latency_us` + bytes / (`bandwidth` GB/s), which with corrections is `time_us`;
    where `out` says why it is not chosen, the numbers are 0."""

    algorithm: str
    protocol: str
    out: str
    latency_us: float
    bandwidth: float
    time_us: float


class MeasuredTimes(Protocol):
    """What a calibration tells of a cluster (`hocket.nccl.fitted`)."""

    @property
    def constants(self) -> Constants: ...

    def times_us(self, model: "NcclModel", collective: str, sizes: Sequence[int]) -> NDArray[np.float64]: ...

    def noise(self, kind: str, ranks: int, nodes: int) -> float: ...


class NcclModel:
    """The channels that NCCL finds on `nodes` machines, and its choices over them, by the release that reads the
    `settings`; with `constants`, as if a tuner plugin had written them over NCCL's. `measured` changes no choice, but
    how long it takes.

    `domain` nodes at a time are one NVLink domain, as the 18 of a GB200 NVL72 are: NCCL takes it for one machine.
    `graphs` are channels that NCCL is given (`NCCL_GRAPH_FILE`); it finds those that they lack.
    `kinds` are its machines' kinds, each by its hosts. `members[m]` are the ranks of machine m by their place in it,
    the GPUs in the order of their ranks, host by host, and `kind_of[m]` is its kind.

    Raises TopologyError, naming the file, for what is not modelled: RCCL's machines; several nodes without NICs;
    FormatError for graphs of another machine.
    """

    def __init__(
        self,
        machine: NcclMachine,
        nodes: int = 1,
        settings: Settings | None = None,
        constants: Constants | None = None,
        domain: int = 1,
        graphs: NcclGraphs | None = None,
        measured: MeasuredTimes | None = None,
    ) -> None:
        if nodes % domain != 0:
            raise TopologyError(f"{nodes} nodes are no whole number of NVLink domains of {domain} nodes")
        fixed = graph_file_channels(graphs, machine, domain) if graphs else Given()
        self._search([((machine,) * domain, nodes // domain)], settings or Settings(), constants, fixed)
        self.domain = domain
        self.measured = measured

    @classmethod
    def of_machines(
        cls,
        kinds: Sequence[tuple[tuple[NcclMachine, ...], int]],
        settings: Settings,
        constants: Constants,
        domain: int = 1,
        measured: MeasuredTimes | None = None,
    ) -> "NcclModel":
        """Of machines of several kinds, each by its hosts, with how many there are. Each node of NCCL searches alone;
        then all count with the least that any has found."""
        model = cls.__new__(cls)
        model._search(kinds, settings, constants, Given())
        model.domain = domain
        model.measured = measured
        return model

    def _search(
        self,
        kinds: Sequence[tuple[tuple[NcclMachine, ...], int]],
        settings: Settings,
        constants: Constants | None,
        fixed: Given,
    ) -> None:
        self.kinds = tuple(hosts for hosts, _ in kinds)
        self.machine = self.kinds[0][0]
        self.nodes = sum(len(hosts) * count for hosts, count in kinds)
        self.settings = settings
        self.constants = constants or self.release.constants
        self.kind_of = tuple(kind for kind, (_, count) in enumerate(kinds) for _ in range(count))
        try:
            elements = [(elements_of(*hosts, release=settings.release), count) for hosts, count in kinds]
            self._asked = kinds, settings, fixed
            self._model = Model(elements, settings, self.constants.flat(), fixed)
        except HocketError as error:
            text = str(error)
            raise type(error)(
                text if text.startswith(self.machine.source) else f"{self.machine.source}: {text}"
            ) from error
        sizes = [len(self.places_on(kind)) for kind in self.kind_of]
        first = np.cumsum([0, *sizes]).tolist()
        self.members = tuple(tuple(range(at, at + size)) for at, size in zip(first, sizes, strict=False))

    def arranged(self, members: Sequence[tuple[int, ...]], kind_of: Sequence[int]) -> "NcclModel":
        """The same communicator with its machines in another order, and its ranks elsewhere on them."""
        found = copy(self)
        found.members, found.kind_of = tuple(members), tuple(kind_of)
        for name in ("is_regular", "place_of", "_as_taken", "_as_told"):
            found.__dict__.pop(name, None)
        return found

    def timed_by(self, protocol: str) -> "NcclModel":
        """The model whose times by a protocol are nearest to what was measured: with the calibrated constants, where
        there are, and with what NICs take by LL and LL128 where NCCL is told another latency, by which it chooses."""
        if protocol != "Simple" and self._is_told:
            return self._as_taken
        return self if self.measured is None else self._as_told

    @cached_property
    def _as_taken(self) -> "NcclModel":
        return self._calibrated(as_taken=True)

    @cached_property
    def _as_told(self) -> "NcclModel":
        return self._calibrated(as_taken=False)

    def _calibrated(self, *, as_taken: bool) -> "NcclModel":
        found = copy(self)
        kinds, settings, fixed = self._asked
        if self.measured is not None:
            found.constants = self.measured.constants
        elements = [(elements_of(*hosts, release=settings.release, as_taken=as_taken), count) for hosts, count in kinds]
        found._model = Model(elements, settings, found.constants.flat(), fixed)
        return found

    @cached_property
    def _is_told(self) -> bool:
        """Whether NCCL is told another latency of any NIC than it takes."""
        nets = (net for hosts in self.kinds for host in hosts for net in host.nets())
        return any(net.takes_ps not in (-1, net.latency_ps) for net in nets)

    def takes_us(self, collective: str, term: Term, size: int) -> float:
        """How long a term of `terms` takes: as it was measured, as far as that tells; else as `timed_by` says."""
        timed = self.timed_by(term.protocol)
        if timed is self:
            return term.time_us
        algorithm, protocol = ALGORITHMS.index(term.algorithm), PROTOCOLS.index(term.protocol)
        if self.measured is not None:
            fitted = float(self.measured.times_us(self, collective, [size])[algorithm, protocol, 0])
            if np.isfinite(fitted):
                return fitted
        return timed.terms(collective, size)[algorithm * len(PROTOCOLS) + protocol].time_us

    @property
    def release(self) -> Release:
        """Which NCCL it is."""
        return release_of_code(self.settings.release)

    @property
    def ranks(self) -> int:
        return self._model.ranks

    @property
    def machines(self) -> int:
        """How many machines NCCL counts: GPUs that reach each other without the network are in one."""
        return self._model.machines

    @cached_property
    def is_regular(self) -> bool:
        """Whether all machines are of one kind and have the ranks one after the other."""
        return len(self.kinds) == 1 and [rank for members in self.members for rank in members] == [*range(self.ranks)]

    @cached_property
    def place_of(self) -> dict[int, tuple[int, int]]:
        """Machine and place of each rank."""
        return {rank: (of, at) for of, members in enumerate(self.members) for at, rank in enumerate(members)}

    @property
    def graphs(self) -> "dict[str, Graph]":
        """The channels found for rings, trees, NVLS, and CollNet where it is on, before each is doubled; on the first
        kind of machine."""
        return self.graphs_on(0)

    def graphs_on(self, kind: int) -> "dict[str, Graph]":
        """Those on a kind of machine."""
        ids = _GRAPHS | (_COLLNET_GRAPHS if self.settings.collnet_enable else {})
        return {name: self._model.graph(number, kind) for name, number in ids.items()}

    @property
    def channels(self) -> tuple[int, int]:
        """On how many channels kernels run, and on how many those of NVLS."""
        return self._model.channels, self._model.nvls_channels

    def channels_of(self, algorithm: str) -> int:
        """On how many channels kernels of the algorithm run at most."""
        return self._model.nvls_channels if algorithm in ("NVLS", "NVLSTree") else self._model.channels

    def channels_for(self, algorithm: str, protocol: str, size: int) -> int:
        """On how many channels a kernel runs for a size in bytes."""
        return self._model.channels_for(ALGORITHMS.index(algorithm), PROTOCOLS.index(protocol), size)

    def steps_us(self, algorithm: str, protocol: str) -> tuple[float, float, float]:
        """What a collective takes without any step, a step inside a machine, and one to another."""
        return self._model.steps(ALGORITHMS.index(algorithm), PROTOCOLS.index(protocol))

    @property
    def places(self) -> list[int]:
        """Place of each of a machine's GPUs, as the graphs number them, among its ranks; of the first kind."""
        return self.places_on(0)

    def places_on(self, kind: int) -> list[int]:
        """Those of a kind of machine."""
        places: list[int] = []
        for host in self.kinds[kind]:
            ranks = [gpu.rank for _, gpu in host.job_gpus()]
            order = sorted(range(len(ranks)), key=ranks.__getitem__)  # stable: without ranks in the file's order
            place = {gpu: len(places) + at for at, gpu in enumerate(order)}
            places += [place[gpu] for gpu in range(len(ranks))]
        return places

    def relays_on(self, kind: int) -> NDArray[np.int32]:
        """The GPU that sends for each GPU to each NIC of a kind of machine (GPUs x NICs, as in the graphs)."""
        return self._model.relays(kind).reshape(len(self.places_on(kind)), -1)

    def choose(self, collective: str, sizes: Sequence[int] | NDArray[np.int64], operations: int = 1) -> Choices:
        """The choices for sizes in bytes, of `operations` like collectives in one group of calls, which are done as one
        of all their bytes. Raises Infeasible when the settings leave no algorithm."""
        columns = np.array(sizes, np.int64)
        return Choices(collective, columns, *self._model.choose(COLLECTIVES.index(collective), columns, operations))

    def terms(self, collective: str, size: int, operations: int = 1) -> list[Term]:
        """Every algorithm with every protocol, for a size in bytes."""
        return [
            Term(ALGORITHMS[algorithm], PROTOCOLS[protocol], OUT[out], latency, bandwidth, time)
            for algorithm, protocol, out, latency, bandwidth, time in self._model.terms(
                COLLECTIVES.index(collective), size, operations
            )
        ]
