"""How often each expert is chosen: evenly, by Zipf's law, or as a file says."""

import math
import random
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from hocket.base.errors import FormatError, Infeasible

__all__ = ["UNIFORM", "ExpertLoads", "parse_loads", "share_out"]

_ZIPF = re.compile(r"zipf:([0-9]{1,3}(?:\.[0-9]{1,9})?)")
_MOST_BYTES = 1 << 26


@dataclass(frozen=True)
class ExpertLoads:
    """Weights by which tokens choose experts.

    `exponent` s: the i-th most popular expert has weight i^-s; which expert that is differs from layer to layer, and
    with `changes` from micro-batch to micro-batch, by `seed`. `weights`: the experts' weights instead, in one row for
    all layers or a row for each layer with experts. `spec` is what `parse_loads` read.
    """

    spec: str = "uniform"
    exponent: float = 0.0
    weights: tuple[tuple[float, ...], ...] = ()
    seed: int = 0
    changes: bool = False

    @property
    def even(self) -> bool:
        return not self.exponent and not self.weights

    def check(self, experts: int, layers: int) -> None:
        """Raises Infeasible unless the weights are of so many experts in so many layers."""
        if not self.weights:
            return
        if len(self.weights) not in (1, layers):
            raise Infeasible(
                f"plan: {self.spec} has {len(self.weights)} rows: one, or {layers} for layers with experts"
            )
        for number, row in enumerate(self.weights):
            if len(row) != experts:
                raise Infeasible(f"plan: {self.spec} row {number} has {len(row)} weights for {experts} experts")

    def tokens_of_experts(self, experts: int, top_k: int, tokens: int, layer: int, micro_batch: int) -> tuple[int, ...]:
        """How many of `tokens` tokens choose each expert; `layer` counts those with experts from 0."""
        row = self.weights[layer % len(self.weights)] if self.weights else None
        order = (self.seed, layer, micro_batch if self.changes else 0)
        return _chosen(experts, top_k, tokens, self.exponent, row, order)


UNIFORM = ExpertLoads()


@lru_cache(maxsize=4096)
def _chosen(
    experts: int, top_k: int, tokens: int, exponent: float, row: tuple[float, ...] | None, order: tuple[int, ...]
) -> tuple[int, ...]:
    if row is None:
        places = list(range(1, experts + 1))
        random.Random("/".join(map(str, order))).shuffle(places)
        row = tuple(place**-exponent for place in places)
    return share_out(tokens * top_k, row, tokens)


def share_out(total: int, weights: tuple[float, ...], most: int) -> tuple[int, ...]:
    """`total` in proportion to the weights, in whole numbers of at most `most` each: a token meets no expert twice."""
    full: set[int] = set()
    while True:
        open_weight = math.fsum(weight for place, weight in enumerate(weights) if place not in full)
        left = total - most * len(full)
        exact = [most if place in full else left * weight / open_weight for place, weight in enumerate(weights)]
        over = {place for place, share in enumerate(exact) if share > most and place not in full}
        if not over:
            break
        full |= over
    shares = [min(int(share), most) for share in exact]
    rest = total - sum(shares)
    for place in sorted(range(len(exact)), key=lambda place: (shares[place] - exact[place], place)):
        if rest > 0 and shares[place] < most:
            shares[place] += 1
            rest -= 1
    return tuple(shares)


def parse_loads(text: str, seed: int = 0, changes: bool = False) -> ExpertLoads:
    """`uniform`, `zipf:1.2`, or a file of weights: a line for all layers or one for each layer with experts, a number
    for each expert, separated by commas or spaces. Raises FormatError for anything else."""
    if text == "uniform":
        return UNIFORM
    if match := _ZIPF.fullmatch(text):
        return ExpertLoads(text, float(match[1]), seed=seed, changes=changes)
    path = Path(text)
    if not path.is_file():
        raise FormatError(f"'{text}' is no distribution of experts: uniform, zipf:1.2 or a file of weights")
    if path.stat().st_size > _MOST_BYTES:
        raise FormatError(f"{path}: too large for weights of experts")
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            row = tuple(map(float, re.split(r"[\s,]+", line.strip().strip(","))))
        except ValueError:
            raise FormatError(
                f"{path}:{number}: expected numbers, a weight for each expert, such as 3, 1, 1, 1"
            ) from None
        if not all(math.isfinite(weight) and weight > 0 for weight in row):
            raise FormatError(f"{path}:{number}: a weight must be a positive number")
        rows.append(row)
    if not rows:
        raise FormatError(f"{path}: no weights of experts")
    return ExpertLoads(str(path), weights=tuple(rows))
