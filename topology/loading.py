"""One way in: a file (ours or ASTRA-sim's), a spec, or a preset."""

import os

from hocket._core.topology import require_connected
from hocket.core.errors import HocketError
from hocket.core.files import read_text
from hocket.core.strict_yaml import read_yaml
from hocket.topology.astra_sim import from_astra_sim
from hocket.topology.model import Topology
from hocket.topology.spec import from_spec
from hocket.topology.topology_file import from_file

__all__ = ["load"]


def load(text: str) -> Topology:
    """The topology in the file `text`, or that the spec or preset `text` names; every rank reaches every other.

    A file that has one of ASTRA-sim's keys `topology` and `npus_count` is read as its network YAML, any other as ours.
    Raises FormatError or TopologyError naming file and line, or the spec, what was expected and the remedy.
    """
    if not os.path.isfile(text):
        topology = from_spec(text)
        require_connected(topology.graph)
        return topology
    document = read_yaml(read_text(text), text)
    try:
        is_astra_sim = {"topology", "npus_count"} & document.content.keys()
        topology = from_astra_sim(document) if is_astra_sim else from_file(document)
        require_connected(topology.graph)
    except HocketError as error:
        # what has a line names the file already
        raise error if str(error).startswith(text) else type(error)(f"{text}: {error}") from error
    return topology
