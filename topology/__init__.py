"""What the machine looks like: ranks, switches and the links between them."""

from hocket.topology.loading import load
from hocket.topology.model import Dimension, Topology
from hocket.topology.topology_file import save

__all__ = ["Dimension", "Topology", "load", "save"]
