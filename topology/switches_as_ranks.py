"""Switches that compute, seen as ranks."""

from dataclasses import replace

import numpy as np

from hocket.topology.model import Topology

__all__ = ["switches_as_ranks"]


def switches_as_ranks(topology: Topology) -> Topology:
    """The same network, where the switches that compute are ranks too: they follow the ranks, in the order of
    `in_network`. Links and their ids stay as they are; it is a product no more."""
    switches = np.arange(topology.num_ranks, topology.num_nodes)
    computing = np.array(topology.in_network, np.int64)
    order = np.concatenate([np.arange(topology.num_ranks), computing, np.setdiff1d(switches, computing)])
    new = np.empty(topology.num_nodes, np.int32)
    new[order] = np.arange(topology.num_nodes, dtype=np.int32)
    machine = np.concatenate([topology.machine, np.zeros(len(computing), np.int32)])
    return replace(
        topology,
        num_ranks=topology.num_ranks + len(computing),
        src=new[topology.src],
        dst=new[topology.dst],
        machine=machine,
        dimensions=(),
        in_network=(),
    )
