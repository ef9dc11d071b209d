"""What NCCL logged that it chose, by size, beside what the model says that it should."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from hocket.base.errors import FormatError
from hocket.nccl.log import Logged, NcclLog, TableEntry
from hocket.nccl.model import NcclModel
from hocket.nccl.names import COLLECTIVES
from hocket.nccl.releases import NEWEST, Release
from hocket.nccl.settings import VARIABLES, Settings, read_settings

__all__ = ["LoggedSize", "by_size", "differing_entries", "logged_ranks", "logged_settings"]

_LAST_DIGIT = 0.05  # NCCL prints one digit
_FLOAT = 1e-4


@dataclass(frozen=True, slots=True)
class LoggedSize:
    """`calls` of a collective of `size_bytes`: `chosen` has each different choice (`Ring/LL`), most frequent first,
    `channels` the least and most that carried them (None: not logged), `modelled` the model's choice (None: no model);
    `slower` is what the logged one takes in the model / the model's own time, None where it is out there."""

    collective: str
    size_bytes: int
    calls: int
    chosen: tuple[str, ...]
    channels: tuple[int, int] | None
    modelled: str | None
    slower: float | None

    @property
    def agrees(self) -> bool:
        """Whether NCCL chose what the model says, each time."""
        return self.chosen == (self.modelled,)


def logged_settings(log: NcclLog, release: Release = NEWEST) -> tuple[Settings, list[str]]:
    """The variables of the log that the model depends on, as a release reads them, and as assignments. Raises
    FormatError for bad values."""
    assignments = [f"{name}={value}" for name, value in log.settings.items() if name in VARIABLES]
    try:
        return read_settings(assignments, release), assignments
    except FormatError as error:
        raise FormatError(f"{log.source}: {error}") from error


def logged_ranks(log: NcclLog, model: NcclModel | None) -> int | None:
    """Of the communicator that made the choices: the model's, else the log's own; None where the log does not say.

    Raises FormatError where the model is of another, or several communicators' choices cannot be told apart.
    """
    told = sorted(pair for pair in log.communicators if pair[0] > 1)
    if model is None:
        return told[0][0] if len(told) == 1 else None
    if len(told) > 1:
        listed = ", ".join(str(ranks) for ranks, _ in told)
        raise FormatError(
            f"{log.source}: communicators of {listed} ranks, and NCCL does not log whose choices are whose: take the"
            " log of a job with one, such as nccl-tests"
        )
    for ranks, nodes in told:
        if ranks != model.ranks or nodes not in (None, model.nodes):
            of = f" of {nodes} nodes" if nodes else ""
            raise FormatError(
                f"{log.source}: a job of {ranks} ranks{of}, but {model.machine.source} on {model.nodes} nodes has"
                f" {model.ranks} ranks: say --topology and --nodes of this job"
            )
    return model.ranks


def by_size(
    log: NcclLog, ranks: int | None, model: NcclModel | None, collective: str | None = None
) -> list[LoggedSize]:
    """The log's choices by collective and ascending size, of all_gather and reduce_scatter the whole buffer where
    `ranks` are known, else one rank's block. `collective` is of choices that do not say theirs (NCCL 2.20 to 2.22).

    Raises FormatError where it is needed and not given.
    """
    calls: dict[tuple[int, int], list[Logged]] = defaultdict(list)
    for each in log.choices:
        name = each.collective or collective
        if name is None:
            raise FormatError(f"{log.source}: NCCL 2.20 to 2.22 do not log which collective it was: say --collective")
        calls[COLLECTIVES.index(name), each.total_bytes(ranks or 1)].append(each)
    return [_size(COLLECTIVES[name], size, found, model) for (name, size), found in sorted(calls.items())]


def _size(collective: str, size: int, calls: list[Logged], model: NcclModel | None) -> LoggedSize:
    names = [f"{each.algorithm}/{each.protocol}" for each in calls]
    chosen = tuple(sorted(set(names), key=lambda name: (-names.count(name), name)))
    channels = [each.channels for each in calls if each.channels is not None]
    span = (min(channels), max(channels)) if channels else None
    if model is None:
        return LoggedSize(collective, size, len(calls), chosen, span, None, None)
    choice = model.choose(collective, [size])
    terms = {f"{term.algorithm}/{term.protocol}": term for term in model.terms(collective, size)}
    logged = terms[chosen[0]]
    slower = None if logged.out else logged.time_us / float(choice.time_us[0])
    return LoggedSize(collective, size, len(calls), chosen, span, choice.name(0), slower)


def differing_entries(entries: Iterable[TableEntry], model: NcclModel) -> list[tuple[TableEntry, float, float]]:
    """The entries of NCCL's table that differ from the model's by more than they were rounded, with the model's latency
    in us and bandwidth in GB/s; 0 where it rules the choice out, whose latency then does not count."""
    terms = {
        (collective, term.algorithm, term.protocol): term
        for collective in COLLECTIVES
        for term in model.terms(collective, 1)
    }
    found = []
    for entry in entries:
        term = terms[entry.collective, entry.algorithm, entry.protocol]
        off = abs(entry.bandwidth - term.bandwidth), abs(entry.latency_us - term.latency_us) * (entry.bandwidth > 0)
        most = max(entry.bandwidth, term.latency_us, term.bandwidth)
        if max(off) > _LAST_DIGIT + _FLOAT * most:
            found.append((entry, term.latency_us, term.bandwidth))
    return found
