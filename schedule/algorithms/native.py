"""What a native algorithm is."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from hocket.base.errors import ScheduleError
from hocket.base.registry import Entry
from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.place import Place
from hocket.schedule.collective import Collective, Kind

__all__ = ["Form", "NativeAlgorithm", "anywhere", "unalike"]


@dataclass(frozen=True)
class Form:
    """What it takes for some kinds, in words: how many steps, and what a rank sends at most, of a buffer of S bytes (as
    nccl-tests counts them) over n ranks, in f chunks per rank; `note` says how they are done."""

    kinds: tuple[Kind, ...]
    steps: str
    sent: str
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class NativeAlgorithm(Entry):
    """An algorithm that people made: the kinds it does, and its moves for a collective of one of them in a place.

    `require` raises ScheduleError, with the remedy, for places that it cannot run on (None: `moves` does). `by_size`:
    whether the moves depend on the collective's sizes; `alike`: whether ranks do alike in a place (where the collective
    has no root), so that they are those of one rank. `cuts_whole`: it takes an all_reduce that is cut into any number
    of chunks (`Collective.cut_whole`). `example` is a topology of four ranks on which it does all of its kinds.
    """

    forms: tuple[Form, ...]
    moves: Callable[[Collective, Place], Moves]
    require: Callable[[Place], object] | None = lambda _: None
    by_size: bool = False
    alike: Callable[[Place], bool] = lambda _: True
    cuts_whole: bool = False
    example: str = "fully_connected:2x2,bandwidth=50GB/s,latency=500ns"

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(kind for form in self.forms for kind in form.kinds)

    def why_not(self, collective: Collective, place: Place) -> str | None:
        """Why it cannot do the collective there, with the remedy; None where it can."""
        if collective.kind not in self.kinds:
            return f"{self.name} does {', '.join(self.kinds)}, not {collective.kind}"
        if collective.cut_whole and not self.cuts_whole:
            return f"{self.name} cuts an all_reduce into chunks of its ranks"
        try:
            if self.require is None:
                self.moves(replace(collective, size_bytes=0, block_bytes=None, chunks_per_rank=1), place)
            else:
                self.require(place)
        except ScheduleError as error:
            return str(error)
        return None

    def num_moves(self, collective: Collective, place: Place) -> int:
        """About how many moves there are, without making any. Raises ScheduleError where `alike` does."""
        of_one = not collective.rooted and self.alike(place)
        return collective.num_deliveries // (collective.num_ranks if of_one else 1)


def anywhere(moves: Callable[[Collective], Moves]) -> Callable[[Collective, Place], Moves]:
    """The moves of an algorithm that does not look at the topology."""
    return lambda collective, _: moves(collective)


def unalike(_: Place) -> bool:
    """For `alike`, where every rank has a part of its own."""
    return False
