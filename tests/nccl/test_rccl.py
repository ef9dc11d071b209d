"""RCCL's model against RCCL's own code: every choice that it made in runs over stand-ins (tests/data/rccl_runs)."""

import csv
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from hocket.base.errors import TopologyError
from hocket.nccl.names import COLLECTIVES, EVERY_ALGORITHM, PROTOCOLS
from hocket.nccl.rccl import RcclModel
from hocket.topology.formats.nccl.machine import NcclMachine, Nic, Pci
from hocket.topology.machines.hosts import hosts_of

RUNS = Path(__file__).parents[1] / "data" / "rccl_runs"
LEAST, MOST = 8, 16 << 30
STEPS = 8


def machine_of(arch: str) -> NcclMachine:
    """A node of eight MI300X, with GPUs of the architecture."""

    def renamed(device: Pci | Nic) -> Pci | Nic:
        if isinstance(device, Nic):
            return device
        gpus = tuple(replace(gpu, gcn=arch) for gpu in device.gpus)
        below = tuple(each for each in map(renamed, device.pcis) if isinstance(each, Pci))
        return replace(device, gpus=gpus, pcis=below)

    machine = hosts_of("ndv5-mi300x").machine
    cpus = tuple(replace(cpu, children=tuple(map(renamed, cpu.children))) for cpu in machine.cpus)
    return replace(machine, cpus=cpus)


def sizes_of(collective: str, ranks: int) -> list[int]:
    whole = 4 * ranks if collective in ("AllGather", "ReduceScatter") else 4
    powers = [LEAST << at for at in range((MOST // LEAST).bit_length())]
    steps = (power + power // STEPS * step for power in powers for step in range(STEPS))
    return sorted({size // whole * whole for size in steps if whole <= size <= MOST})


@pytest.mark.parametrize("path", sorted(RUNS.glob("*.csv")), ids=lambda path: path.stem)
def test_every_choice_is_rccls_own(path: Path) -> None:
    arch, nodes = path.stem.split("_")
    model = RcclModel(machine_of(arch), int(nodes))
    rows = list(csv.DictReader(path.read_text().splitlines()))
    compared = 0
    for collective in dict.fromkeys(row["collective"] for row in rows):
        found = model.choose(collective, sizes_of(collective, model.ranks))
        for row in (row for row in rows if row["collective"] == collective):
            within = (found.bytes >= int(row["first"])) & (found.bytes <= int(row["last"]))
            assert within.sum() == int(row["sizes"])
            for at in np.flatnonzero(within):
                own = EVERY_ALGORITHM[found.algorithm[at]], PROTOCOLS[found.protocol[at]], found.channels[at]
                said = row["algorithm"].capitalize(), row["protocol"], int(row["channels"])
                assert (own[0], own[1].upper(), own[2]) == said, (collective, int(found.bytes[at]))
                compared += 1
    assert compared > 1000


def test_sizes_tile_the_runs() -> None:
    for path in RUNS.glob("*.csv"):
        for one, other in pairwise(csv.DictReader(path.read_text().splitlines())):
            assert one["collective"] != other["collective"] or int(one["last"]) < int(other["first"])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("mi250", "16 GPUs of gfx90a: RCCL's choices are modelled of 8 GPUs of gfx942"),
        ("mi300x:gpus=4", "4 GPUs take part"),
    ],
)
def test_machines_whose_rings_it_does_not_know(spec: str, message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        RcclModel(hosts_of(spec).machine)


def test_nics_that_are_not_in_the_gpus_switches() -> None:
    machine = hosts_of("mi300x").machine
    bare = replace(machine, cpus=tuple(replace(cpu, children=cpu.children[:1]) for cpu in machine.cpus))
    with pytest.raises(TopologyError, match="2 GPUs take part"):
        RcclModel(bare, 2)
    one_cpu = replace(machine, cpus=(replace(machine.cpus[0], children=sum((c.children for c in machine.cpus), ())),))
    assert RcclModel(one_cpu).ranks == 8
    with pytest.raises(TopologyError, match="four at each of two CPUs"):
        RcclModel(one_cpu, 2)


def test_rules_say_what_they_override() -> None:
    model = RcclModel(hosts_of("mi350x").machine)
    assert model.override("AllReduce", 8) is None
    found = model.override("AllReduce", 1024)
    assert found is not None and found[0] == "Ring/LL" and "AllReduce from 64 B to 256 KiB" in found[1]
    sizes = [8 << at for at in range(31)]
    for collective in COLLECTIVES:
        choices = model.choose(collective, sizes)
        for at, (size, expected) in enumerate(zip(sizes, model.expected_us(collective, sizes), strict=True)):
            overridden = model.override(collective, size)
            assert overridden is None or overridden[0] != choices.name(at)
            assert overridden is not None or choices.time_us[at] == expected
