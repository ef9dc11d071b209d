"""One synthesis problem of the comparison, what has to be reached, and what came out."""

from dataclasses import dataclass

from hocket.schedule import Kind

__all__ = ["GIB", "UNKNOWN", "Case", "Figures", "Outcome", "Target"]

GIB = 2**30
# Recorded times are rounded to four digits of a microsecond, and made with doubles.
_ROUNDING = 2e-6


@dataclass(frozen=True)
class Target:
    """What is to be reached: a time, or a ratio to our own lower bound, and the limits of the search itself."""

    time_us: float | None = None
    ratio: float | None = None
    seconds: float | None = None
    peak_bytes: int | None = None


@dataclass(frozen=True)
class Figures:
    """A peer's recorded time of the collective (as a causal execution has it, where that was measured; `claimed` if
    not), and the seconds that it took to find it."""

    time_us: float | None = None
    seconds: float | None = None
    claimed: bool = False


UNKNOWN = Figures()


@dataclass(frozen=True)
class Case:
    """`topology`: a spec, or a graph of `hocket.bench.peers.graphs`; without the nodes and links `without`.

    `size_bytes` as nccl-tests has it, `chunks` a rank. All links are blocking, as in TACOS. `groups`: how many groups
    of consecutive ranks do it at once (1: all ranks). `missing`: why Hocket cannot do it yet.
    """

    kind: Kind
    topology: str
    size_bytes: int
    chunks: int
    target: Target
    peer: Figures = UNKNOWN
    without: tuple[str, ...] = ()
    threads: int = 1
    groups: int = 1
    missing: str = ""

    @property
    def name(self) -> str:
        """For people and `--case`: unique."""
        size = "" if self.size_bytes > 0.99 * GIB and self.size_bytes <= GIB else f" {self.size_bytes} B"
        groups = f" in {self.groups} groups" if self.groups > 1 else ""
        without = "".join(f" without {what}" for what in self.without)
        return f"{self.kind} {self.topology.replace(',latency=500ns', '')}{without}{groups} chunks={self.chunks}{size}"


@dataclass(frozen=True)
class Outcome:
    """What a fresh process measured: the wall and the processor seconds of `synthesize` whole, with its bound and its
    verification, and the peak memory of the process; or why there is no schedule."""

    name: str
    time_ps: int = 0
    bound_ps: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_bytes: int = 0
    transfers: int = 0
    engine: str = ""
    error: str = ""

    @property
    def ratio(self) -> float:
        return self.time_ps / max(1, self.bound_ps)

    @property
    def quiet_seconds(self) -> float:
        """At most what it would have taken on a quiet machine: other jobs add to wall time, threads to processor
        time."""
        return min(self.seconds, self.cpu_seconds)

    def shortfalls(self, target: Target) -> list[str]:
        """What of the target is not reached."""
        if self.error:
            return [self.error]
        checks = [
            (self.time_ps / 10**6, target.time_us, "time"),
            (self.ratio, target.ratio, "ratio"),
            (self.quiet_seconds, target.seconds, "seconds"),
            (self.peak_bytes, target.peak_bytes, "memory"),
        ]
        return [what for value, limit, what in checks if limit is not None and value > limit * (1 + _ROUNDING)]
