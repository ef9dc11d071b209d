"""The hosts that a spec of machines names, as a communication library sees them: one host, how many, and how many of
them NVLink joins."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NoReturn

from hocket.base.errors import FormatError, TopologyError
from hocket.base.late_imports import late_imports
from hocket.base.reading import read_text
from hocket.base.strict_yaml import nearest, read_yaml
from hocket.topology.options import read_flag, read_number, read_options

with late_imports(__name__):
    from hocket.topology.formats.nccl.machine import NcclMachine, Nic, Pci
    from hocket.topology.formats.nccl.read import is_nccl_topology
    from hocket.topology.formats.smi.matrix import is_smi_matrix
    from hocket.topology.machines.cluster import MOST_MACHINES
    from hocket.topology.machines.hardware import GPUS
    from hocket.topology.machines.integrated_machines import INTEGRATED
    from hocket.topology.machines.loading import CLUSTER_KEYS, MACHINE_FILES, PRESET_KEYS, load_machine, split_imported
    from hocket.topology.machines.nccl_presets import nccl_preset
    from hocket.topology.machines.records import MACHINES, MachineRecord

__all__ = ["Hosts", "NoMachines", "SeveralMachines", "hosts_of", "hosts_of_one_kind"]

_NAMES_MACHINES = re.compile(r"^(spec|machines|cluster)\s*:", re.MULTILINE)


class NoMachines(FormatError):
    """The text names no machines: a pure graph, or nothing there is."""


class SeveralMachines(TopologyError):
    """The text names machines of several kinds."""


@dataclass(frozen=True, eq=False)
class Hosts:
    """`nodes` hosts like `machine` in all, of which `domain` at a time are one NVLink domain, as the 18 trays of a rack
    are; GPUs that take no part have no rank. `record` is the machine's where it was named, `nvls` what the spec says of
    switches that compute, if anything; `counted`: whether it says how many hosts there are. `calibration`: the file of
    what was fitted to measurements of them."""

    spec: str
    name: str
    machine: NcclMachine
    nodes: int = 1
    domain: int = 1
    record: MachineRecord | None = None
    nvls: bool | None = None
    counted: bool = False
    calibration: str | None = None

    @property
    def ranks(self) -> int:
        """GPUs that take part, of all hosts."""
        return self.nodes * len(self.machine.job_gpus())

    @property
    def accelerator(self) -> str:
        """What computes, by its name among accelerators; "" where that is not known."""
        if self.record is not None:
            return self.record.accelerator
        devices = {pci.device >> 32 for pci, _ in self.machine.job_gpus()}
        found = [name for name, kind in GPUS.items() if {kind.vendor << 16 | kind.device} == devices]
        return found[0] if found else ""

    @property
    def multiprocessors(self) -> int:
        """Of each GPU, which run thread blocks; 0 where that is not known."""
        kind = GPUS.get(self.accelerator)
        return 0 if kind is None else kind.multiprocessors

    def times(self, ranks: int) -> Hosts:
        """As many such machines as `ranks` GPUs are. Raises TopologyError where they are no whole number, or another
        than the spec says."""
        one = len(self.machine.job_gpus()) * self.domain
        if ranks % one or (self.counted and ranks != self.ranks):
            raise TopologyError(f"{ranks} ranks are not machines of {one} GPUs as {self.spec}")
        return replace(self, nodes=ranks // one * self.domain)


def hosts_of(spec: str, nodes: int | None = None, domain: int | None = None) -> Hosts:
    """The hosts of a preset `dgx-h100:nodes=2,...`, of `nccl:FILE,nodes=N` and `smi:FILE,...`, of a file that NCCL or
    `nvidia-smi topo -m` wrote, or of our YAML that names such.

    `nodes` is how many hosts there are where the spec does not say it, `domain` how many of them NVLink joins, in place
    of the record's. Raises NoMachines where the spec names no machines, SeveralMachines where they are of several
    kinds, FormatError and TopologyError for what is out of range, GPUs that are no whole hosts, and `nodes` that
    contradict the spec.
    """
    return _of_file(spec, nodes, domain) if os.path.isfile(spec) else _of_spec(spec, nodes, domain)


def hosts_of_one_kind(spec: str) -> Hosts | None:
    """As `hosts_of`, and None where the spec names no machines, or machines of several kinds."""
    try:
        return hosts_of(spec)
    except (NoMachines, SeveralMachines):
        return None


def _of_spec(spec: str, nodes: int | None, domain: int | None) -> Hosts:
    word = re.split("[:,]", spec.strip(), maxsplit=1)[0]
    if word in MACHINES:
        return _of_preset(spec, MACHINES[word], nodes, domain)
    if word not in MACHINE_FILES:
        _refuse(spec)
    word, path, options = split_imported(spec.strip(), CLUSTER_KEYS)
    found = Hosts(
        spec, path, MACHINE_FILES[word].read(path, options), nvls=_nvls(options), calibration=options.get("calibration")
    )
    said = read_number("nodes", options["nodes"]) if "nodes" in options else None
    return _counted(found, said, nodes, domain or 1)


def _of_file(path: str, nodes: int | None, domain: int | None) -> Hosts:
    text = read_text(path)
    if is_nccl_topology(text) or is_smi_matrix(text):
        return _counted(Hosts(path, path, load_machine(path)), None, nodes, domain or 1)
    named, calibration = _named(text, path)
    if not named:
        raise NoMachines(f"{path}: a graph, which does not say what its machines are: add `cluster: dgx-h100:nodes=2`")
    first, *others = [_of_spec(one, nodes if len(named) == 1 else None, domain) for one in named]
    for other in others:
        if (other.name, other.machine) != (first.name, first.machine):
            raise SeveralMachines(f"{path}: machines of several kinds, {first.spec} and {other.spec}")
    beside = os.path.join(os.path.dirname(path), calibration) if calibration else first.calibration
    found = replace(first, spec=path, nodes=first.nodes + sum(other.nodes for other in others), calibration=beside)
    return found if len(named) == 1 else _counted(found, found.nodes // found.domain, nodes, found.domain)


@lru_cache(maxsize=4)
def _named(text: str, path: str) -> tuple[tuple[str, ...], str | None]:
    """The specs of machines in a file of ours, and its calibration."""
    content: dict[str, Any] = read_yaml(text, path).content if _NAMES_MACHINES.search(text) else {}
    named: Any = next((content[key] for key in ("spec", "machines", "cluster") if key in content), [])
    specs = [named] if isinstance(named, str) else named
    calibration = content.get("calibration")
    are_specs = isinstance(specs, list) and all(isinstance(one, str) for one in specs)
    return tuple(specs) if are_specs else (), calibration if isinstance(calibration, str) else None


def _of_preset(spec: str, record: MachineRecord, nodes: int | None, domain: int | None) -> Hosts:
    options = read_options(spec.strip()[len(record.name) + 1 :], PRESET_KEYS)
    gpus = read_number("gpus", options["gpus"]) if "gpus" in options else record.gpus
    if not 1 <= gpus <= record.gpus:
        raise TopologyError(f"{spec}: {record.name} takes gpus from 1 to {record.gpus}")
    of_host = record.gpus // record.hosts
    if gpus > of_host and gpus % of_host:
        raise TopologyError(f"{spec}: its trays have {of_host} GPUs each: say gpus=1 to {of_host}, or a multiple of it")
    machine = nccl_preset(record.name)
    machine = machine if gpus >= of_host else _with_first(machine, gpus)
    found = Hosts(
        spec, record.name, machine, record=record, nvls=_nvls(options), calibration=options.get("calibration")
    )
    said = read_number("nodes", options["nodes"]) if "nodes" in options else None
    joined = max(1, gpus // of_host)
    if domain is not None and said is not None and said * joined % domain == 0:
        said = said * joined // domain
    return _counted(found, said, nodes, domain or joined)


def _counted(found: Hosts, said: int | None, nodes: int | None, domain: int) -> Hosts:
    """With as many hosts as the spec says (`said` NVLink domains), or as `nodes` says where it does not."""
    if said is not None and not 1 <= said <= MOST_MACHINES:
        raise TopologyError(f"{found.spec}: takes nodes from 1 to {MOST_MACHINES}")
    joined = f": {domain} at a time share NVSwitches" * (domain > 1)
    if said is not None and nodes not in (None, said * domain):
        raise FormatError(f"{found.spec} is {said * domain} nodes{joined}, and --nodes says {nodes}: keep one")
    total = nodes if nodes is not None else (said or 1) * domain
    if total % domain:
        several = f"--nodes {domain}, {2 * domain}, ..."
        spec = f", or {found.record.name}:nodes=1, which is {domain} of them" if found.record else ""
        raise FormatError(f"{found.spec}: {total} nodes are not whole NVLink domains{joined}: say {several}{spec}")
    return replace(found, nodes=total, domain=domain, counted=said is not None or nodes is not None)


def _nvls(options: Mapping[str, str]) -> bool | None:
    return read_flag("nvls", options["nvls"]) if "nvls" in options else None


def _with_first(machine: NcclMachine, gpus: int) -> NcclMachine:
    """The host of whose GPUs the first `gpus` take part."""

    def used(pci: Pci) -> Pci:
        own = tuple(replace(gpu, rank=gpu.rank if gpu.rank < gpus else -1) for gpu in pci.gpus)
        return replace(pci, gpus=own, pcis=tuple(map(used, pci.pcis)))

    def under(child: Pci | Nic) -> Pci | Nic:
        return used(child) if isinstance(child, Pci) else child

    cpus = tuple(replace(cpu, children=tuple(map(under, cpu.children))) for cpu in machine.cpus)
    return replace(machine, cpus=cpus)


def _refuse(spec: str) -> NoReturn:
    word = re.split("[:,]", spec.strip(), maxsplit=1)[0]
    if word in INTEGRATED:
        raise NoMachines(f"'{spec}': {INTEGRATED[word].library} runs its collectives, which is not modelled")
    if re.search(r"\bbandwidth\s*=", spec):
        raise NoMachines(
            f"'{spec}': a graph alone, which does not say what its machines are: name some, such as dgx-h100:nodes=2,"
            " nccl:FILE or smi:FILE"
        )
    known = nearest(spec, [*MACHINES, *MACHINE_FILES])
    raise NoMachines(f"'{spec}': no such file, and no machine by that name; {known}")
