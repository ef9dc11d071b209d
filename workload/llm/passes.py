"""The passes that a pipeline schedule orders."""

from dataclasses import dataclass
from enum import Enum

__all__ = ["PassKind", "PipelineTask"]


class PassKind(Enum):
    """What is done to a micro-batch; BACKWARD is both gradients, layer by layer."""

    FORWARD = 0
    BACKWARD = 1
    INPUT_GRADIENT = 2
    WEIGHT_GRADIENT = 3


@dataclass(frozen=True)
class PipelineTask:
    """A pass of a micro-batch through one chunk of a stage's layers. `beside`: together with the task before it, so
    that what one waits for hides behind the other."""

    kind: PassKind
    chunk: int
    micro_batch: int
    beside: bool = False
