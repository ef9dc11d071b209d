"""A model's choices as rules of a tuner table."""

from collections.abc import Iterable, Iterator

from hocket.nccl.choice import NcclChoice
from hocket.nccl.model import NcclModel
from hocket.nccl.names import ALGORITHMS, PROTOCOLS
from hocket.nccl.tuning.rules import TunerRule

__all__ = ["model_choices", "predicted_rules"]


def model_choices(model: NcclModel, collective: str, sizes: list[int]) -> list[NcclChoice]:
    """What the model chooses for each size. Raises Infeasible when its settings leave no algorithm."""
    choices = model.choose(collective, sizes)
    pairs = zip(choices.algorithm.tolist(), choices.protocol.tolist(), strict=True)
    return [NcclChoice(ALGORITHMS[algorithm], PROTOCOLS[protocol]) for algorithm, protocol in pairs]


def predicted_rules(model: NcclModel, collectives: Iterable[str], sizes: list[int]) -> list[TunerRule]:
    """What the model chooses from the first of `sizes` (ascending) to the last, each change to the byte as far as a
    choice that ends between two neighbours does not come again before the second.

    Raises Infeasible when the model's settings leave no algorithm.
    """
    nodes, ranks = (model.nodes,) * 2, (model.ranks,) * 2
    rules = []
    for collective in collectives:
        starts = list(_changes(model, collective, sizes))
        ends = [start - 1 for start, _ in starts[1:]] + [sizes[-1]]
        rules += [
            TunerRule(collective, nodes, ranks, least, most, choice)
            for (least, choice), most in zip(starts, ends, strict=True)
        ]
    return rules


def _changes(model: NcclModel, collective: str, sizes: list[int]) -> Iterator[tuple[int, NcclChoice]]:
    """The sizes from which on another choice is made, the first included."""
    known = model_choices(model, collective, sizes)
    yield sizes[0], known[0]
    for at in range(1, len(sizes)):
        low, before = sizes[at - 1], known[at - 1]
        while before != known[at]:
            high = sizes[at]
            while high - low > 1:
                middle = (low + high) // 2
                if model_choices(model, collective, [middle])[0] == before:
                    low = middle
                else:
                    high = middle
            (before,) = model_choices(model, collective, [high])
            low = high
            yield high, before
