"""What is asked of NCCL, and the program that it would run."""

from dataclasses import dataclass, replace
from functools import cached_property

from hocket.base.collectives import kind_called
from hocket.base.errors import ScheduleError
from hocket.nccl.model import NcclModel, Term
from hocket.nccl.names import ALGORITHMS, COLLECTIVES, PROTOCOLS
from hocket.schedule import Collective, Kind, Passes, Program

__all__ = ["KINDS", "NcclCall", "NcclProgram"]

#: Kinds of collectives by NCCL's names.
KINDS = {name: Kind(kind_called(name) or name) for name in COLLECTIVES}

_ROUNDING = 1e-4  # of NCCL's floats, generously


@dataclass(frozen=True, eq=False)
class NcclCall:
    """A collective of `size_bytes` (NCCL's and nccl-tests': of all_gather and reduce_scatter the whole buffer) by an
    algorithm and a protocol, NCCL's names, on at most `channels` channels. Raises ScheduleError for what is none."""

    model: NcclModel
    collective: str
    algorithm: str
    protocol: str
    channels: int
    size_bytes: int
    root: int = 0

    def __post_init__(self) -> None:
        for what, name, known in (
            ("collective", self.collective, COLLECTIVES),
            ("algorithm", self.algorithm, ALGORITHMS),
            ("protocol", self.protocol, PROTOCOLS),
        ):
            if name not in known:
                raise ScheduleError(f"'{name}' is no {what} of NCCL; there are {', '.join(known)}")
        if not 1 <= self.channels <= self.model.channels_of(self.algorithm):
            raise ScheduleError(
                f"{self.algorithm} on {self.channels} channels: kernels run on 1 to"
                f" {self.model.channels_of(self.algorithm)} here"
            )
        model = self.model
        in_parts = model.machines != len(model.members)
        domains = model.nodes != model.machines > 1  # whose NICs are not told apart
        if in_parts or domains:
            raise ScheduleError(
                f"NCCL takes the {model.nodes} nodes for {model.machines}: programs are for nodes that it takes as they"
                " are, and for a single NVLink domain"
            )
        if not 0 <= self.root < self.ranks:
            raise ScheduleError(f"root {self.root} is not one of {self.ranks} ranks")
        if self.size_bytes < 1 or self.size_bytes % self.blocks:
            expected = f"a multiple of {self.blocks} ranks" if self.size_bytes > 0 else "a byte or more"
            raise ScheduleError(f"{self.collective} of {self.size_bytes} B: expected {expected}")

    @property
    def kind(self) -> Kind:
        return KINDS[self.collective]

    @property
    def ranks(self) -> int:
        return self.model.ranks

    @property
    def nodes(self) -> int:
        """That NCCL counts."""
        return len(self.model.members)

    @property
    def gpus(self) -> int:
        """Of one machine, as NCCL rounds it."""
        return self.model.ranks // self.nodes

    @property
    def blocks(self) -> int:
        """Into how many equal blocks, one a rank, the collective cuts the whole buffer."""
        return self.ranks if self.kind in (Kind.ALL_GATHER, Kind.REDUCE_SCATTER) else 1

    @property
    def name(self) -> str:
        """`NCCL Ring/LL128`."""
        return f"NCCL {self.algorithm}/{self.protocol}"

    @cached_property
    def term(self) -> Term:
        """NCCL's model of it."""
        terms = self.model.terms(self.collective, self.size_bytes)
        return next(each for each in terms if (each.algorithm, each.protocol) == (self.algorithm, self.protocol))

    @property
    def timed_latency(self) -> float:
        """us, as calibrated where that is known; more than the model's latency for rings with Simple over several
        nodes, as its times have it."""
        term = self._timed_term
        if self.algorithm != "Ring":
            return term.latency_us
        return max(term.latency_us, term.time_us - self.size_bytes / term.bandwidth / 1000)

    @property
    def timed_bandwidth(self) -> float:
        """GB/s, as calibrated where that is known; of a tree with NCCL's correction for the size, which its times have
        and its bandwidths have not (where bytes take more than rounding)."""
        term = self._timed_term
        bytes_us = term.time_us - term.latency_us
        if self.algorithm != "Tree" or bytes_us <= term.latency_us * _ROUNDING:
            return term.bandwidth
        return self.size_bytes / bytes_us / 1000

    @cached_property
    def _timed_term(self) -> Term:
        return replace(self, model=self.model.timed_by(self.protocol)).term

    @cached_property
    def machine(self) -> tuple[int, ...]:
        """Machine of each rank."""
        return tuple(self.model.place_of[rank][0] for rank in range(self.ranks))


@dataclass(frozen=True, eq=False)
class NcclProgram:
    """The `program` that answers a request, and how a call of its size is cut."""

    request: NcclCall
    program: Program
    passes: Passes

    @property
    def collective(self) -> Collective:
        return self.passes.collective(self.program)
