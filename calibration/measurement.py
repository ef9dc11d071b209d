"""What a benchmark measured: one size of one collective on so many ranks."""

from collections.abc import Mapping
from dataclasses import dataclass

from hocket.base.collectives import MESSAGE, NAMED_KINDS, bus_factor, kind_called
from hocket.base.errors import FormatError
from hocket.nccl.choice import Forced, NcclChoice, forced
from hocket.nccl.fitted import NCCL_NAMES

__all__ = ["Assumed", "BenchmarkRun", "Measurement", "kind_named"]


@dataclass(frozen=True, slots=True)
class BenchmarkRun:
    """What a benchmark's output says of the whole run: its GPUs' models, and NCCL's variables and version (`2.28.9`),
    None where it does not show them."""

    devices: frozenset[str]
    variables: Mapping[str, str] | None
    version: str | None = None

    def forced(self, kind: str, place: str) -> Forced | None:
        """What the variables leave of NCCL's choice for a kind of NCCL_NAMES; None where they are not shown. Raises
        FormatError, naming `place`, for values that NCCL does not know."""
        return None if self.variables is None else forced(self.variables, NCCL_NAMES[kind], place)


@dataclass(frozen=True, slots=True)
class Measurement:
    """A call of `kind` (a `Kind`, or MESSAGE) with `size_bytes`, as nccl-tests counts it, on `ranks` ranks of `nodes`
    machines took `time_ps`. `stream` says that many were under way at once: the time is what each adds. `place` is the
    file and line it was read from. `choice` is what NCCL ran, where the output tells it, by its log or by the variables
    that forced it; `run` what it says of the whole run."""

    kind: str
    ranks: int
    nodes: int
    size_bytes: int
    time_ps: int
    in_place: bool
    place: str
    stream: bool = False
    choice: NcclChoice | None = None
    run: BenchmarkRun | None = None

    @property
    def algbw(self) -> float:
        """Bytes/s."""
        return self.size_bytes * 1e12 / self.time_ps

    @property
    def busbw(self) -> float:
        """Bytes/s, as nccl-tests defines it."""
        return self.algbw * bus_factor(self.kind, self.ranks)


@dataclass(frozen=True, slots=True)
class Assumed:
    """What the user says of a file that does not say it itself."""

    kind: str | None = None
    ranks: int | None = None
    nodes: int | None = None


def kind_named(name: str, place: str) -> str:
    """The kind that a benchmark calls so (`all_reduce_perf_mpi`, `Alltoall`). Raises FormatError for others."""
    kind, known = kind_called(name), sorted([*NAMED_KINDS, MESSAGE])
    if kind not in known:
        raise FormatError(f"{place}: '{name}' is not measured here: take results of {', '.join(known)}")
    return kind
