"""Stock NCCL, modelled: what it chooses on a machine, and why."""

from hocket.nccl.constants import Constants
from hocket.nccl.model import Choices, NcclModel, Term
from hocket.nccl.names import ALGORITHMS, COLLECTIVES, PATH_TYPES, PROTOCOLS
from hocket.nccl.settings import VARIABLES, Settings, read_settings

__all__ = [
    "ALGORITHMS",
    "COLLECTIVES",
    "PATH_TYPES",
    "PROTOCOLS",
    "VARIABLES",
    "Choices",
    "Constants",
    "NcclModel",
    "Settings",
    "Term",
    "read_settings",
]
