"""Machines by name: what is in each, as data. docs/topology.md says where every number comes from."""

from hocket.base.registry import Registry
from hocket.topology.machines.cloud_machines import CLOUD_MACHINES
from hocket.topology.machines.record import MachineRecord
from hocket.topology.machines.vendor_machines import VENDOR_MACHINES

__all__ = ["MACHINES", "MachineRecord"]

MACHINES = Registry("machine", (*VENDOR_MACHINES, *CLOUD_MACHINES))
