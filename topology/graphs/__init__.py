"""Specs' words for topologies that are no products."""

from hocket.base.registry import Registry
from hocket.topology.graphs.builder import GraphBuilder

__all__ = ["GRAPHS"]

# The files of this folder that hold them. A new one is one line.
_FILES = ("dragonfly", "fat_tree", "generalized_fat_tree", "random")
GRAPHS: Registry[GraphBuilder] = Registry.of_files("graph", "hocket.topology.graphs", _FILES, "GRAPHS")
