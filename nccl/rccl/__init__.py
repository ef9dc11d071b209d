"""AMD's RCCL, modelled: what it chooses on a node of eight GPUs that are all joined by xGMI, and on several."""

from hocket.base.late_imports import late_imports

with late_imports(__name__):
    from hocket.nccl.rccl.model import RcclModel

__all__ = ["RcclModel"]
