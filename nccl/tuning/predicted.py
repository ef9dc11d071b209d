"""A model's choices as rules of a tuner table."""

from collections.abc import Iterable, Iterator

from hocket.nccl.choice import NcclChoice
from hocket.nccl.model import NcclModel
from hocket.nccl.names import ALGORITHMS, PROTOCOLS
from hocket.nccl.tuning.rules import Rule

__all__ = ["predicted_rules"]


def predicted_rules(
    model: NcclModel, collectives: Iterable[str], sizes: list[int], stock: NcclModel | None = None
) -> list[Rule]:
    """What `model` chooses from the first of `sizes` (ascending) to the last, each change to the byte as far as no two
    fall between neighbours; with `stock` only where that chooses something else.

    Raises Infeasible when a model's settings leave no algorithm.
    """
    rules = []
    for collective in collectives:
        starts = list(_changes(model, stock, collective, sizes))
        ends = [start - 1 for start, _, _ in starts[1:]] + [sizes[-1]]
        for (least, choice, by_stock), most in zip(starts, ends, strict=True):
            if choice != by_stock:
                rules.append(Rule(collective, (model.nodes,) * 2, (model.ranks,) * 2, least, most, choice))
    return rules


_Chosen = tuple[NcclChoice, NcclChoice | None]


def _changes(
    model: NcclModel, stock: NcclModel | None, collective: str, sizes: list[int]
) -> Iterator[tuple[int, NcclChoice, NcclChoice | None]]:
    """The sizes from which on another choice is made, the first included, with the model's and the stock one's."""

    def chosen(at: list[int]) -> list[_Chosen]:
        ours = _names(model, collective, at)
        theirs = _names(stock, collective, at) if stock else [None] * len(at)
        return list(zip(ours, theirs, strict=True))

    known = chosen(sizes)
    yield sizes[0], *known[0]
    for at in range(1, len(sizes)):
        low, before = sizes[at - 1], known[at - 1]
        while before != known[at]:
            high = sizes[at]
            while high - low > 1:
                middle = (low + high) // 2
                if chosen([middle])[0] == before:
                    low = middle
                else:
                    high = middle
            before = chosen([high])[0]
            low = high
            yield high, *before


def _names(model: NcclModel, collective: str, sizes: list[int]) -> list[NcclChoice]:
    choices = model.choose(collective, sizes)
    pairs = zip(choices.algorithm.tolist(), choices.protocol.tolist(), strict=True)
    return [NcclChoice(ALGORITHMS[algorithm], PROTOCOLS[protocol]) for algorithm, protocol in pairs]
