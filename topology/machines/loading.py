"""One way in for a machine as NCCL sees it: a topology file, what `nvidia-smi topo -m` prints, or a preset."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from hocket.base.errors import FormatError, HocketError, placed
from hocket.base.reading import read_text
from hocket.base.registry import Entry, Registry
from hocket.base.strict_yaml import nearest
from hocket.topology.formats.nccl.machine import NcclMachine
from hocket.topology.formats.nccl.read import read_nccl_topology
from hocket.topology.formats.smi.matrix import is_smi_matrix
from hocket.topology.machines.fabric import FABRIC_KEYS
from hocket.topology.machines.nccl_presets import nccl_preset
from hocket.topology.machines.presets import PRESETS
from hocket.topology.machines.smi_machine import SMI_KEYS, read_smi_machine
from hocket.topology.options import read_options

__all__ = ["CLUSTER_KEYS", "MACHINE_FILES", "PRESET_KEYS", "load_machine", "split_imported"]

#: What a spec of machines takes, read from a file or by name.
CLUSTER_KEYS = ("nodes", "nvls", "sharp", "calibration", *FABRIC_KEYS)
PRESET_KEYS = ("nodes", "gpus", "link", "latency", "nvls", "sharp", "calibration", *FABRIC_KEYS)


@dataclass(frozen=True, kw_only=True)
class MachineReader(Entry):
    """How a sort of file is read whose spec is `NAME:FILE,key=value`, and the keys that it takes."""

    keys: tuple[str, ...] = ()
    read: Callable[[str, Mapping[str, str]], NcclMachine]


MACHINE_FILES = Registry(
    "file of a machine",
    (
        MachineReader(
            name="nccl",
            summary="NCCL's or RCCL's topology XML, of one machine",
            source="`NCCL_TOPO_DUMP_FILE`, `NCCL_TOPO_FILE`",
            example="nccl:machine.xml,nodes=2",
            read=lambda path, _: read_nccl_topology(path),
        ),
        MachineReader(
            name="smi",
            summary="the matrix of links between GPUs, NICs and CPUs",
            needs=", ".join(f"`{key}=`" for key in ("gpu", "cpu", "nic")),
            source="`nvidia-smi topo -m`",
            example="smi:topo.txt,gpu=h100,cpu=sapphire_rapids,nic=400Gbit/s,nodes=2",
            keys=SMI_KEYS,
            read=read_smi_machine,
        ),
    ),
)


def split_imported(text: str, more_keys: Iterable[str] = ()) -> tuple[str, str, dict[str, str]]:
    """Word, file and options of `WORD:FILE,key=value`. Raises FormatError for a key that is none."""
    word, _, rest = text.partition(":")
    path, _, options = rest.partition(",")
    return word, path, read_options(options, [*MACHINE_FILES[word].keys, *more_keys])


def load_machine(text: str) -> NcclMachine:
    """The machine in the topology file `text`, of the spec `smi:FILE,...`, or of the preset of that name: one host.

    Raises FormatError or TopologyError naming file and line, or what is known.
    """
    if os.path.isfile(text):
        return MACHINE_FILES["smi" if is_smi_matrix(read_text(text)) else "nccl"].read(text, {})
    word = text.partition(":")[0]
    if text in PRESETS:
        return nccl_preset(text)
    if word in PRESETS:
        raise FormatError(f"'{text}': one machine is asked for here: give its name, '{word}', alone")
    if word in MACHINE_FILES:
        try:
            word, path, options = split_imported(text)
            return MACHINE_FILES[word].read(path, options)
        except HocketError as error:
            raise placed(f"machine '{text}'", error) from error
    raise FormatError(
        f"'{text}': no such file, and no machine by that name; {nearest(text, [*PRESETS, *MACHINE_FILES])}"
    )
