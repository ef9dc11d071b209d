"""Which ranks share a model and which share its gradients."""

import re
from dataclasses import dataclass

from hocket.base.enums import assert_never
from hocket.base.errors import FormatError
from hocket.workload.network import Scope

__all__ = ["HybridPlan", "parse_plan"]

_HYBRID = re.compile(r"hybrid:([0-9]{1,9})(:spread)?")


@dataclass(frozen=True)
class HybridPlan:
    """`num_ranks` ranks in model-parallel groups of `model_size`; ranks at one place of these are data-parallel.

    Neighbouring ranks share a model, or, if `spread`, ranks that are `num_ranks / model_size` apart.
    """

    num_ranks: int
    model_size: int = 1
    spread: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.model_size <= self.num_ranks or self.num_ranks % self.model_size:
            raise FormatError(f"model-parallel groups of {self.model_size} do not divide {self.num_ranks} ranks")

    @property
    def data_size(self) -> int:
        """Number of replicas of the model."""
        return self.num_ranks // self.model_size

    def size(self, scope: Scope) -> int:
        """Ranks in a group of that scope."""
        return {Scope.ALL: self.num_ranks, Scope.MODEL: self.model_size, Scope.DATA: self.data_size}[scope]

    def members(self, scope: Scope, rank: int) -> tuple[int, ...]:
        """World ranks of the rank's group, ascending."""
        match scope:
            case Scope.ALL:
                return tuple(range(self.num_ranks))
            case Scope.MODEL:
                neighbours = not self.spread
            case Scope.DATA:
                neighbours = self.spread
            case _:
                assert_never(scope)
        size = self.size(scope)
        stride = 1 if neighbours else self.num_ranks // size
        first = rank - rank % size if neighbours else rank % stride
        return tuple(first + stride * place for place in range(size))

    def __str__(self) -> str:
        if self.model_size == 1:
            return f"{self.num_ranks} data-parallel ranks"
        if self.data_size == 1:
            return f"{self.num_ranks} model-parallel ranks"
        return f"{self.data_size} data-parallel replicas of {self.model_size} model-parallel ranks"


def parse_plan(text: str, num_ranks: int) -> HybridPlan:
    """A plan such as `data`, `model`, `hybrid:8` (8 neighbours share a model) or `hybrid:8:spread`.

    Raises FormatError for another form, and for groups that do not divide the ranks.
    """
    if text in ("data", "model"):
        return HybridPlan(num_ranks, num_ranks if text == "model" else 1)
    match = _HYBRID.fullmatch(text)
    if match is None:
        raise FormatError(f"'{text}' is no plan of parallelism: data, model, hybrid:8 or hybrid:8:spread")
    return HybridPlan(num_ranks, int(match[1]), match[2] is not None)
