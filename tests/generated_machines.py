"""Machines of two CPUs as NCCL's topology files say them, and what the model says of them."""

from pathlib import Path

from hocket.nccl import NcclModel, read_settings
from hocket.topology.formats.nccl.read import read_nccl_topology

SIZES = [2**power for power in range(3, 35)]
VENDORS = {"GenuineIntel": "familyid='6' modelid='143'", "AuthenticAMD": "familyid='25' modelid='1'"}


def machine_text(
    *,
    gpus: int = 8,
    per_switch: int = 2,
    sm: int = 90,
    link: str = "switch",
    nics: int = 8,
    vendor: str = "GenuineIntel",
) -> str:
    """A machine of two CPUs; the GPUs in switches of `per_switch`; `link` is `switch`, `mesh` or `none`."""

    def device(bus: int, kind: str, inside: str) -> str:
        link = "link_speed='32.0 GT/s PCIe' link_width='16'"
        return f"<pci busid='0000:{bus:02x}:00.0' class='{kind}' {link}>{inside}</pci>"

    def gpu(number: int) -> str:
        ends = [f"target='0000:{16 + other:02x}:00.0' tclass='0x030200'" for other in range(gpus) if other != number]
        ends = {"switch": ["target='0000:05:00.0' tclass='0x068000'"], "mesh": ends, "none": []}[link]
        links = "".join(f"<nvlink {end} count='{18 if link == 'switch' else 2}'/>" for end in ends)
        return device(16 + number, "0x030200", f"<gpu dev='{number}' sm='{sm}' rank='{number}' gdr='1'>{links}</gpu>")

    def nic(number: int) -> str:
        net = f"<net name='n{number}' dev='{number}' speed='400000' port='1' guid='0x{number + 1:x}' gdr='1'/>"
        return device(64 + number, "0x020000", f"<nic>{net}</nic>")

    switches = []
    for first in range(0, gpus, per_switch):
        members = range(first, min(first + per_switch, gpus))
        inside = [gpu(number) for number in members] + [nic(number) for number in members if number < nics]
        switches.append(device(128 + first, "0x060400", "".join(inside)))
    half = (len(switches) + 1) // 2
    cpus = [
        f"<cpu numaid='{numa}' arch='x86_64' vendor='{vendor}' {VENDORS[vendor]}>{''.join(part)}</cpu>"
        for numa, part in enumerate((switches[:half], switches[half:]))
    ]
    return f"<system version='1'>{''.join(cpus)}</system>".replace("'", '"')


def model_of(folder: Path, text: str, nodes: int = 1, *assignments: str) -> NcclModel:
    path = folder / "machine.xml"
    path.write_text(text, encoding="utf-8")
    return NcclModel(read_nccl_topology(path), nodes, read_settings(assignments))


def names(model: NcclModel, collective: str = "AllReduce") -> set[str]:
    choices = model.choose(collective, SIZES)
    return {choices.name(at) for at in range(len(SIZES))}
