"""What is found wrong with a tuner table."""

from dataclasses import dataclass
from enum import Enum

from hocket.nccl.names import ALGORITHMS, PROTOCOLS

__all__ = ["ANY", "TableFinding", "TableSeverity", "choice_name"]

#: An algorithm or protocol that is left to NCCL.
ANY = -1


class TableSeverity(Enum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, order=True)
class TableFinding:
    """`line` of the table, and what to do about it."""

    line: int
    severity: TableSeverity
    text: str


def choice_name(algorithm: int, protocol: int) -> str:
    """`Ring/LL128`; `any` where NCCL chooses."""
    algorithm_name = "any" if algorithm == ANY else ALGORITHMS[algorithm]
    return f"{algorithm_name}/{'any' if protocol == ANY else PROTOCOLS[protocol]}"
