"""The matrices of a model, and how tensor parallelism splits them (Megatron-LM, arXiv:1909.08053)."""

from dataclasses import dataclass
from enum import Enum

from hocket.base.enums import assert_never

__all__ = ["Linear", "MatrixSplit"]


class MatrixSplit(Enum):
    """The side of a matrix that tensor parallelism splits; NONE: every rank holds all of it."""

    NONE = 0
    INPUTS = 1
    OUTPUTS = 2


@dataclass(frozen=True)
class Linear:
    """A linear layer of `inputs` x `outputs` weights; `bias` adds one for each output."""

    inputs: int
    outputs: int
    split: MatrixSplit
    bias: bool = False

    @property
    def weights(self) -> int:
        return self.inputs * self.outputs

    @property
    def parameters(self) -> int:
        return self.weights + (self.outputs if self.bias else 0)

    def on_rank(self, tp: int) -> "Linear":
        """The part of one of `tp` ranks; a bias is split with the outputs only."""
        match self.split:
            case MatrixSplit.INPUTS:
                return Linear(self.inputs // tp, self.outputs, self.split, self.bias)
            case MatrixSplit.OUTPUTS:
                return Linear(self.inputs, -(-self.outputs // tp), self.split, self.bias)
            case MatrixSplit.NONE:
                return self
            case _:
                assert_never(self.split)
