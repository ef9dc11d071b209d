"""What the ranks of a collective say about the sizes of its blocks, where these differ."""

from collections.abc import Iterator
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import TraceError
from hocket.schedule import NAMED_KINDS, Kind
from hocket.simulator.traces.joins import Joins
from hocket.simulator.traces.nodes import Nodes

__all__ = ["Blocks"]

_CONTRIBUTED = [kind for kind in NAMED_KINDS if kind.input_is_block]
_CUT = [kind for kind in NAMED_KINDS if kind.input_is_cut]
_Part = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
_SPLITS = msgspec.json.Decoder(tuple[_Part, ...])


class Blocks:
    """`of_instance`: block sizes, as in `Collective.block_bytes`, of the collectives whose blocks differ.

    Those of an all_gather and a gather are the inputs of their ranks. The others' are parts of inputs: of every rank's
    in an all_to_all, of any rank's in a reduce_scatter, of the root's in a scatter; a rank that does not say how its
    input is cut (`in_split_size`) cuts it evenly. Raises TraceError at a node whose splits are no sizes, do not fit
    its group or its bytes, or differ from another rank's where they must not.
    """

    def __init__(self, nodes: Nodes, joins: Joins) -> None:
        self._nodes, self._joins = nodes, joins
        strings: dict[str, int] = {}
        self._text = nodes.text_column("in_splits", strings)[joins.rows]
        self._texts: tuple[str, ...] = tuple(strings)
        self._num_spread = 0
        differs = (joins.size != joins.size[joins.leader]) & joins.is_one_of(*_CONTRIBUTED, Kind.ALL_TO_ALL)
        is_cut = (self._text >= 0) & joins.is_one_of(*_CUT)
        uneven = np.unique(joins.instance[differs | is_cut])
        here = np.flatnonzero(np.isin(joins.instance, uneven))
        here = here[np.argsort(joins.instance[here], kind="stable")]
        begin, end = (np.searchsorted(joins.instance[here], uneven, side) for side in ("left", "right"))
        self.of_instance: dict[int, tuple[int, ...]] = {}
        for number, first, last in zip(uneven.tolist(), begin.tolist(), end.tolist(), strict=True):
            blocks = self._blocks(here[first:last])
            if len(set(blocks)) > 1:
                self.of_instance[number] = blocks

    def notes(self) -> Iterator[str]:
        """What had to be assumed."""
        if self._num_spread:
            yield (
                f"{self._num_spread} all_to_alls have ranks of different sizes and no in_split_size:"
                " each rank's bytes are spread evenly over all ranks"
            )

    def _blocks(self, members: NDArray[np.intp]) -> tuple[int, ...]:
        """Block sizes of the collective that these joins are; nothing where no rank says any."""
        joins = self._joins
        kind, num_ranks = joins.kind_of(int(members[0])), len(joins.ranks_of(int(members[0])))
        if kind in _CONTRIBUTED:
            blocks = [0] * num_ranks
            for at in members.tolist():
                blocks[joins.position[at]] = int(joins.size[at])
            return tuple(blocks)
        if kind == Kind.ALL_TO_ALL:
            rows: list[tuple[int, ...]] = [(0,) * num_ranks] * num_ranks
            for at in members.tolist():
                rows[joins.position[at]] = self._parts(at)
            self._num_spread += bool((self._text[members] < 0).all())
            return tuple(size for row in rows for size in row)
        if kind == Kind.SCATTER:
            members = members[joins.position[members] == joins.root[members]]
        said = members[self._text[members] >= 0].tolist()
        parts = [self._parts(at) for at in said]
        for at, own in zip(said, parts, strict=True):
            if own != parts[0]:
                other = self._nodes.describe(int(joins.rows[said[0]]))
                raise self._error(at, f"in_split_size is {self._spelled(at)}, but {self._spelled(said[0])} in {other}")
        return parts[0] if parts else ()

    def _parts(self, at: int) -> tuple[int, ...]:
        """The bytes of a rank's input that are for each member."""
        size, num_ranks = int(self._joins.size[at]), len(self._joins.ranks_of(at))
        if self._text[at] < 0:
            return tuple((part + 1) * size // num_ranks - part * size // num_ranks for part in range(num_ranks))
        try:
            splits = _SPLITS.decode(self._spelled(at))
        except msgspec.MsgspecError:
            splits = ()
        if len(splits) != num_ranks:
            raise self._error(
                at, f"in_split_size is '{self._spelled(at)}', expected {num_ranks} sizes, such as [3, 5] for 2 ranks"
            )
        parts = tuple(size // max(1, sum(splits)) * part for part in splits)
        if sum(parts) != size:
            raise self._error(at, f"comm_size is {size}, no multiple of the {sum(splits)} of in_split_size")
        return parts

    def _spelled(self, at: int) -> str:
        return self._texts[int(self._text[at])]

    def _error(self, at: int, fault: str) -> TraceError:
        return TraceError(f"{self._nodes.describe(int(self._joins.rows[at]))}: {fault}")
