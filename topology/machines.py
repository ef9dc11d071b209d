"""One way in for a machine as NCCL sees it: a topology file, or a preset."""

import os

from hocket.core.errors import FormatError
from hocket.core.strict_yaml import nearest
from hocket.topology.nccl_machine import NcclMachine
from hocket.topology.nccl_presets import nccl_preset
from hocket.topology.nccl_xml import read_nccl_topology
from hocket.topology.presets import PRESETS

__all__ = ["load_machine"]


def load_machine(text: str) -> NcclMachine:
    """The machine in the topology file `text`, or of the preset of that name: one host, without NICs' network.

    Raises FormatError or TopologyError naming file and line, or what is known.
    """
    if os.path.isfile(text):
        return read_nccl_topology(text)
    if text in PRESETS:
        return nccl_preset(text)
    if text.partition(":")[0] in PRESETS:
        raise FormatError(f"'{text}': one machine is asked for here: give its name, '{text.partition(':')[0]}', alone")
    raise FormatError(f"'{text}': no such file, and no machine by that name; {nearest(text, PRESETS)}")
