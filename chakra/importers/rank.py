"""What an importer reads of one rank, before the ranks are put together."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from hocket.chakra.losses import Loss
from hocket.chakra.trace import Trace

__all__ = ["IssuedCall", "LaneWait", "Notes", "RankTrace"]


class Notes(Counter[str]):
    """What could not be known, in words, and how often: printed at the end of an import. `lost` is what of each rank's
    recording is in no node of its trace, which the trace's metadata say from then on."""

    def __init__(self) -> None:
        super().__init__()
        self.lost: dict[int, Counter[Loss]] = defaultdict(Counter)

    def lose(self, rank: int, loss: Loss, note: str, count: int = 1) -> None:
        """Counts what of a rank is lost, and says so in words."""
        self.lost[rank][loss] += count
        self[note] += count


@dataclass(frozen=True)
class LaneWait:
    """Lane `lane` does not go on before the call is complete: it waits from `begin` on, and goes on at `end` (ns)."""

    lane: int
    begin: int
    end: int


@dataclass(frozen=True)
class IssuedCall:
    """A collective or message on one rank, issued by `lane` at `start`; times in ns of the rank's clock, sizes bytes.

    `kind` is the name of a `CollectiveType` in small letters, send or recv; `num_bytes` this rank's input, of a scatter
    its root's, of a message its size; `dtype` PyTorch's name of a collective's type, "" where unknown. `root` and
    `peer` are world ranks, -1 where unknown. `end` is None where completion was not seen, `sequence` the number among
    the group's collectives where the format tells it. Calls of one `queue` run one after the other, as those of an NCCL
    communicator do. `extra` are attributes of its node that have no column.
    """

    kind: str
    group: str
    num_bytes: int
    start: int
    end: int | None
    lane: int = 0
    root: int = -1
    peer: int = -1
    tag: int = 0
    in_splits: tuple[int, ...] = ()
    dtype: str = ""
    sequence: int | None = None
    queue: str = ""
    wait: LaneWait | None = None
    extra: Mapping[str, int | str] = field(default_factory=dict)

    @property
    def is_message(self) -> bool:
        return self.kind in ("send", "recv")


@dataclass(frozen=True)
class RankTrace:
    """A rank's trace with the process groups by the names that the rank knows: world ranks in group order.

    `world` is the size of the job where the format tells it; start times are those of the rank's clock. `descriptions`
    are what the format says the groups are for.
    """

    rank: int
    world: int | None
    trace: Trace
    groups: dict[str, tuple[int, ...]] = field(default_factory=dict)
    descriptions: dict[str, str] = field(default_factory=dict)
