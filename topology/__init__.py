"""What the machine looks like: ranks, switches and the links between them."""

from hocket.topology.model import Dimension, Topology

__all__ = ["Dimension", "Topology"]
