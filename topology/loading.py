"""One way in: a file (ours, ASTRA-sim's or NCCL's), a spec, or a preset."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from hocket._core.topology import require_connected
from hocket.base.errors import HocketError, placed
from hocket.base.late_imports import late_imports
from hocket.base.reading import name_of, read_text
from hocket.topology.model import Topology
from hocket.topology.spec import from_spec

with late_imports(__name__):
    from hocket.base.strict_yaml import read_yaml
    from hocket.topology.formats.astra_sim import from_astra_sim
    from hocket.topology.formats.infragraph.read import from_infragraph, is_infragraph
    from hocket.topology.formats.nccl.read import is_nccl_topology
    from hocket.topology.formats.smi.matrix import is_smi_matrix
    from hocket.topology.machines.loading import load_machine
    from hocket.topology.machines.nccl_topology import from_nccl
    from hocket.topology.yaml_file import from_file

__all__ = ["load"]


def load(text: Path | str) -> Topology:
    """The topology in the file `text`, or that the spec or preset `text` names; every rank reaches every other.

    A file that is XML is read as NCCL's topology file, one with a matrix of GPUs as what `nvidia-smi topo -m` prints,
    one that has one of ASTRA-sim's keys `topology` and `npus_count` as its network YAML, one with `devices` and
    `instances` as InfraGraph's, any other as ours.
    Raises FormatError or TopologyError naming file and line, or the spec, what was expected and the remedy.
    """
    text = name_of(text)
    if not os.path.isfile(text):
        topology = from_spec(text)
        require_connected(topology.graph)
        return topology
    content = read_text(text)
    if is_nccl_topology(content) or is_smi_matrix(content):
        topology = replace(from_nccl(load_machine(text)), cluster=(f"nccl:{text}",) if "," not in text else ())
        require_connected(topology.graph)
        return topology
    document = read_yaml(content, text)
    try:
        if is_infragraph(document.content):
            topology = from_infragraph(document)
        elif {"topology", "npus_count"} & document.content.keys():
            topology = from_astra_sim(document)
        else:
            topology = from_file(document)
        require_connected(topology.graph)
    except HocketError as error:
        # what has a line names the file already
        raise error if error.args[0].startswith(text) else placed(text, error) from error
    return topology
