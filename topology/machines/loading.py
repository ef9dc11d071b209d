"""One way in for a machine as NCCL sees it: a topology file, what `nvidia-smi topo -m` prints, or a preset."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from hocket.base.errors import FormatError, HocketError, placed
from hocket.base.reading import read_text
from hocket.base.strict_yaml import nearest
from hocket.topology.formats.nccl.machine import NcclMachine
from hocket.topology.formats.nccl.read import read_nccl_topology
from hocket.topology.formats.smi.matrix import is_smi_matrix
from hocket.topology.machines.nccl_presets import nccl_preset
from hocket.topology.machines.presets import PRESETS
from hocket.topology.machines.smi_machine import SMI_KEYS, read_smi_machine
from hocket.topology.options import read_options

__all__ = ["IMPORTED", "load_machine", "split_imported"]


@dataclass(frozen=True)
class MachineImporter:
    """How a kind of file is read, and the keys of a spec that it takes."""

    keys: tuple[str, ...]
    read: Callable[[str, Mapping[str, str]], NcclMachine]


# word of a spec `WORD:FILE,key=value`
IMPORTED = {
    "nccl": MachineImporter((), lambda path, _: read_nccl_topology(path)),
    "smi": MachineImporter(SMI_KEYS, read_smi_machine),
}


def split_imported(text: str, more_keys: Iterable[str] = ()) -> tuple[str, str, dict[str, str]]:
    """Word, file and options of `WORD:FILE,key=value`. Raises FormatError for a key that is none."""
    word, _, rest = text.partition(":")
    path, _, options = rest.partition(",")
    return word, path, read_options(options, [*IMPORTED[word].keys, *more_keys])


def load_machine(text: str) -> NcclMachine:
    """The machine in the topology file `text`, of the spec `smi:FILE,...`, or of the preset of that name: one host.

    Raises FormatError or TopologyError naming file and line, or what is known.
    """
    if os.path.isfile(text):
        return IMPORTED["smi" if is_smi_matrix(read_text(text)) else "nccl"].read(text, {})
    word = text.partition(":")[0]
    if text in PRESETS:
        return nccl_preset(text)
    if word in PRESETS:
        raise FormatError(f"'{text}': one machine is asked for here: give its name, '{word}', alone")
    if word in IMPORTED:
        try:
            word, path, options = split_imported(text)
            return IMPORTED[word].read(path, options)
        except HocketError as error:
            raise placed(f"machine '{text}'", error) from error
    raise FormatError(f"'{text}': no such file, and no machine by that name; {nearest(text, [*PRESETS, *IMPORTED])}")
