"""Machines whose network devices are changed: of another speed, or of which NCCL is told nothing."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from hocket.nccl import NcclModel
from hocket.topology.formats.nccl.machine import NcclMachine, Net

__all__ = ["untold"]

_INSIDE = {"NcclMachine": ("cpus",), "Cpu": ("children",), "Pci": ("nic", "pcis"), "Nic": ("nets",)}


def _with_nets(machine: NcclMachine, change: Callable[[Net], Net]) -> NcclMachine:
    """The machine with each of its network devices changed."""
    found = _changed(machine, change)
    assert isinstance(found, NcclMachine)
    return found


def untold(model: NcclModel) -> NcclModel:
    """The model of NCCL that is told no latency of its network devices. What a plugin tells decides what NCCL chooses,
    and is no measurement (75 us of EFA, whose step takes 20 to 70): the effects of fabrics are of what was measured."""
    if not any(net.latency_ps for net in model.machine.nets()):
        return model
    machine = _with_nets(model.machine, lambda net: replace(net, latency_ps=0, takes_ps=-1))
    return NcclModel(machine, model.nodes, model.settings, domain=model.domain)


def _changed(part: Any, change: Callable[[Net], Net]) -> Any:
    if isinstance(part, Net):
        return change(part)
    if isinstance(part, Sequence) and not isinstance(part, str):
        return tuple(_changed(each, change) for each in part)
    names = _INSIDE.get(type(part).__name__, ())
    return replace(part, **{name: _changed(getattr(part, name), change) for name in names}) if names else part
