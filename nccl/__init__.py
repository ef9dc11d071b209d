"""Stock NCCL, modelled: what it chooses on a machine, and why."""

from hocket.base.late_imports import late_imports

with late_imports(__name__):
    from hocket.nccl.choice import NcclChoice, forced, read_choice
    from hocket.nccl.constants import Constants
    from hocket.nccl.log import NcclLog, read_nccl_log
    from hocket.nccl.model import Choices, NcclModel, Term
    from hocket.nccl.model_graphs import model_graphs
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
    "NcclChoice",
    "NcclLog",
    "NcclModel",
    "Settings",
    "Term",
    "forced",
    "model_graphs",
    "read_choice",
    "read_nccl_log",
    "read_settings",
]
