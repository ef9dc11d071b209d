"""Programs in place of a job's collectives: stock PyTorch, unmodified training code."""

from hocket.plugin.algorithms.activation import arm, use

__all__ = ["arm", "use"]
