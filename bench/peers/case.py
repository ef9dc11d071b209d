"""One synthesis problem of the comparison, what has to be reached, and what came out."""

from dataclasses import dataclass

from hocket.schedule import Kind

__all__ = ["GIB", "UNKNOWN", "Case", "Figures", "Outcome", "Sharing", "Target"]

GIB = 2**30
# Recorded times are rounded to four digits of a microsecond, and made with doubles.
_ROUNDING = 2e-6


@dataclass(frozen=True)
class Target:
    """What is to be reached: a time, or a ratio to our own lower bound; the seconds of the search, or of everything
    (`whole_seconds`: with bound and verification); and the memory."""

    time_us: float | None = None
    ratio: float | None = None
    seconds: float | None = None
    whole_seconds: float | None = None
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
class Sharing:
    """Groups of ranks at once on one network: what they look like, for people, and whether ranks of other groups may
    pass their chunks on."""

    look: str
    groups: tuple[tuple[int, ...], ...]
    relays: bool

    @property
    def name(self) -> str:
        return f"{len(self.groups)} groups, {self.look}{' with relays' if self.relays else ''}"


@dataclass(frozen=True)
class Case:
    """`topology`: a spec, or a graph of `hocket.bench.peers.graphs`; without the nodes and links `without`.

    `size_bytes` as nccl-tests has it, `chunks` a rank. All links are blocking, as in TACOS. `sharing`: the groups that
    do it at once (None: all ranks do it).
    """

    kind: Kind
    topology: str
    size_bytes: int
    chunks: int
    target: Target
    peer: Figures = UNKNOWN
    without: tuple[str, ...] = ()
    threads: int = 1
    sharing: Sharing | None = None

    @property
    def name(self) -> str:
        """For people and `--case`: unique."""
        size = "" if self.size_bytes > 0.99 * GIB and self.size_bytes <= GIB else f" {self.size_bytes} B"
        groups = "" if self.sharing is None else f" in {self.sharing.name}"
        without = "".join(f" without {what}" for what in self.without)
        return f"{self.kind} {self.topology.replace(',latency=500ns', '')}{without}{groups} chunks={self.chunks}{size}"


@dataclass(frozen=True)
class Outcome:
    """What a fresh process measured: the wall seconds of the search alone, the wall and the processor seconds of it,
    its bound and its verification together, and the peak memory of the process; or why there is no schedule.

    On a machine with other jobs wall seconds are too many, with several threads processor seconds are: the smaller of
    both is at most what a quiet machine needs.
    """

    name: str
    time_ps: int = 0
    bound_ps: int = 0
    search_seconds: float = 0.0
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_bytes: int = 0
    transfers: int = 0
    engine: str = ""
    error: str = ""

    @property
    def ratio(self) -> float:
        return self.time_ps / max(1, self.bound_ps)

    @property
    def seconds(self) -> float:
        """Of the search, at most."""
        return min(self.search_seconds, self.cpu_seconds)

    @property
    def whole_seconds(self) -> float:
        """Of everything, at most."""
        return min(self.wall_seconds, self.cpu_seconds)

    def shortfalls(self, target: Target) -> list[str]:
        """What of the target is not reached."""
        if self.error:
            return [self.error]
        checks = [
            (self.time_ps / 10**6, target.time_us, "time"),
            (self.ratio, target.ratio, "ratio"),
            (self.seconds, target.seconds, "seconds"),
            (self.whole_seconds, target.whole_seconds, "seconds"),
            (self.peak_bytes, target.peak_bytes, "memory"),
        ]
        return [what for value, limit, what in checks if limit is not None and value > limit * (1 + _ROUNDING)]
