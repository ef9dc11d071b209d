"""A machine from `nvidia-smi topo -m` and what that does not say: which GPUs and CPUs, how fast the NICs are."""

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations, count
from pathlib import Path

from hocket.base.errors import FormatError, TopologyError
from hocket.base.reading import read_text
from hocket.base.strict_yaml import nearest
from hocket.base.units import parse_bandwidth
from hocket.topology.formats.nccl.bandwidth import unknown_gpu
from hocket.topology.formats.nccl.machine import Cpu, Dialect, LinkTarget, NcclMachine, NvLink, Pci
from hocket.topology.formats.smi.groups import PciGroups
from hocket.topology.formats.smi.matrix import SmiMatrix, read_smi_matrix
from hocket.topology.machines.hardware import CPUS, GPUS, GpuKind
from hocket.topology.machines.nccl_parts import address_of, gpu_device, nic_device, pci_switch

__all__ = ["SMI_KEYS", "read_smi_machine"]

SMI_KEYS = ("gpu", "cpu", "nic", "nics", "nvswitch")
_GPUS = {name: kind for name, kind in GPUS.items() if not kind.gcn}


def read_smi_machine(path: Path | str, options: Mapping[str, str]) -> NcclMachine:
    """The machine whose `nvidia-smi topo -m` is in a file.

    Options: `gpu` of `hardware.GPUS`, `cpu` of `hardware.CPUS`, `nic`: bandwidth of each NIC; `nics`: those to take, by
    name (`mlx5_0/mlx5_3`; all), `nvswitch`: 1 where two GPUs are linked through one, as no matrix of two tells.

    Raises FormatError for a text or an option that is not such, or lacks; TopologyError for a machine that cannot be.
    """
    matrix = read_smi_matrix(read_text(path), str(path))
    _require(matrix, options)
    matrix = _chosen(matrix, options.get("nics"))
    kind, cpu = _GPUS[options["gpu"]], CPUS[options["cpu"]]
    speed = parse_bandwidth(options["nic"]) // 125_000 if matrix.nics else 0
    groups = PciGroups(matrix)
    parts = count()
    address = {device: address_of(next(parts)) for device in (*matrix.gpus, *matrix.nics)}
    links = _links(matrix, options["gpu"], kind, address, options.get("nvswitch", "0") == "1")

    def device(name: str) -> Pci:
        if name in links:
            return gpu_device(address[name], kind.lane_speed, kind, matrix.gpus.index(name), links[name])
        number = matrix.nics.index(name)
        return nic_device(address[name], kind.lane_speed, number, matrix.names[name], speed)

    def switch(below: list[Pci]) -> Pci:
        return pci_switch(address_of(next(parts)), kind.lane_speed, below)

    cpus = []
    for numa, bridges in enumerate(groups.nested):
        children = []
        for switches in bridges:
            lower = [[device(name) for name in names] for names in switches]
            if len(lower) > 1:
                children.append(switch([switch(below) for below in lower]))
            else:
                children.append(switch(lower[0]) if len(lower[0]) > 1 else lower[0][0])
        cpus.append(Cpu(0, numa, cpu.arch, cpu.vendor, cpu.family, cpu.model, tuple(children)))
    unknown = unknown_gpu(kind.sm)
    return NcclMachine(str(path), Dialect.NCCL, tuple(cpus), (*groups.notes, *([unknown] if unknown else [])))


def _require(matrix: SmiMatrix, options: Mapping[str, str]) -> None:
    needed = {"gpu": f"one of {', '.join(_GPUS)}", "cpu": f"one of {', '.join(CPUS)}"}
    if matrix.nics:
        needed["nic"] = f"the bandwidth of each of its {len(matrix.nics)} NICs, as 400Gbit/s"
    if missing := [f"{key} ({what})" for key, what in needed.items() if key not in options]:
        raise FormatError(
            f"{matrix.source}: nvidia-smi topo -m does not say {'; '.join(missing)}: write"
            f" smi:{matrix.source},gpu=h100,cpu=sapphire_rapids" + ",nic=400Gbit/s" * bool(matrix.nics)
        )
    for key, known in (("gpu", _GPUS), ("cpu", CPUS), ("nvswitch", ("0", "1"))):
        if options.get(key, next(iter(known))) not in known:
            raise FormatError(f"{key}={options[key]}: no such {key}; {nearest(options[key], known)}")


def _chosen(matrix: SmiMatrix, text: str | None) -> SmiMatrix:
    """With the NICs of these names alone."""
    if text is None:
        return matrix
    by_name = {matrix.names[nic]: nic for nic in matrix.nics} | {nic: nic for nic in matrix.nics}
    wanted = [name.strip() for name in re.split("[/+]", text)]
    for name in wanted:
        if name not in by_name:
            raise FormatError(f"nics={text}: {matrix.source} has no NIC {name}; {nearest(name, by_name)}")
    nics = {by_name[name] for name in wanted}
    return replace(matrix, nics=tuple(nic for nic in matrix.nics if nic in nics))


def _links(
    matrix: SmiMatrix, name: str, kind: GpuKind, address: Mapping[str, int], through_switch: bool
) -> dict[str, list[NvLink]]:
    """The NVLinks of each GPU: to others, or to NVSwitches where these cells are more than it has."""
    count_of = {
        (one, other): int(cell.removeprefix("NV"))
        for (one, other), cell in matrix.cells.items()
        if cell.startswith("NV")
    }
    for (one, other), number in count_of.items():
        if number > kind.links:
            raise TopologyError(
                f"{matrix.source}: {one} and {other} are joined by NV{number}, but a GPU of gpu={name} has"
                f" {kind.links} NVLinks: which GPUs are they?"
            )
    most = {gpu: max((count_of.get((gpu, other), 0) for other in matrix.gpus), default=0) for gpu in matrix.gpus}
    total = {gpu: sum(count_of.get((gpu, other), 0) for other in matrix.gpus) for gpu in matrix.gpus}
    if not (count_of and (through_switch or max(total.values()) > kind.links)):
        return {
            gpu: [NvLink(0, address[other], LinkTarget.GPU, count_of[gpu, other]) for other in matrix.gpus
                  if (gpu, other) in count_of]
            for gpu in matrix.gpus
        }  # fmt: skip
    for one, other in combinations(matrix.gpus, 2):
        if count_of.get((one, other), 0) != min(most[one], most[other]):
            raise TopologyError(
                f"{matrix.source}: {one} and {other} are joined by {matrix.cells[one, other]}, but go by"
                f" {most[one]} and {most[other]} NVLinks to others, through NVSwitches: these join all by as many"
            )
    return {gpu: [NvLink(0, 0, LinkTarget.SWITCH, most[gpu])] * (most[gpu] > 0) for gpu in matrix.gpus}
