"""Machines as their vendors build them. An HGX machine is its DGX."""

from dataclasses import replace

from hocket.topology.machines.record import MachineRecord

__all__ = [
    "DGX_1",
    "DGX_A100",
    "DGX_B200",
    "DGX_B300",
    "DGX_H100",
    "DGX_H200",
    "DGX_H800",
    "GB200",
    "GB300",
    "MI300X",
    "VENDOR_MACHINES",
]

# Eight V100 in a hybrid cube mesh: pairs joined by one or two NVLinks, as `nvidia-smi topo -m` prints them.
_ONCE = [(0, 1), (0, 2), (1, 3), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7)]
_TWICE = [(0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (4, 7), (5, 6), (6, 7)]
_CUBE_MESH = dict.fromkeys(_ONCE, 1) | dict.fromkeys(_TWICE, 2)

# Eight MI250 of two GPUs (GCDs) each: four links between the halves of a package, one or two to others.
_HALVES = {(gpu, gpu + 1): 4 for gpu in range(0, 16, 2)}
_SINGLE = [(0, 2), (1, 2), (1, 3), (1, 5), (2, 6), (4, 12), (5, 13), (5, 14), (6, 13), (6, 14), (7, 15), (8, 10)]
_SINGLE += [(9, 10), (9, 11), (9, 13), (10, 14)]
_PACKAGES = _HALVES | dict.fromkeys(_SINGLE, 1) | dict.fromkeys([(0, 4), (3, 7), (8, 12), (11, 15)], 2)

_EVERY_PAIR = {(a, b): 1 for a in range(8) for b in range(a + 1, 8)}

DGX_1 = MachineRecord(
    "v100",
    "broadwell",
    4,
    100,
    switches=4,
    pairs=_CUBE_MESH,
    name="dgx-1",
    summary="8 V100, 6 NVLinks of 25 GB/s, hybrid cube mesh",
    source="DGX-1 data sheet; pairs and counts as `nvidia-smi topo -m` prints them",
    example="dgx-1:nodes=2",
)
DGX_A100 = MachineRecord(
    "a100",
    "amd",
    8,
    200,
    numa=4,
    switches=4,
    nvswitches=(2,) * 6,
    name="dgx-a100",
    summary="8 A100, 12 x 25 GB/s",
    source="DGX A100 data sheet and user guide",
    example="dgx-a100:nodes=2",
)
DGX_H100 = MachineRecord(
    "h100",
    "sapphire_rapids",
    8,
    400,
    nvswitches=(4, 5, 5, 4),
    name="dgx-h100",
    summary="8 H100, 18 x 25 GB/s",
    source="DGX H100 data sheet and user guide",
    example="dgx-h100:nodes=2",
)
DGX_H800 = replace(
    DGX_H100,
    gpu="h800",
    nvswitches=(2,) * 4,
    name="dgx-h800",
    summary="8 H800, 8 x 25 GB/s (400 GB/s both ways)",
    source="DeepSeek-V3's repository, issue 28: 400 GB/s both ways, 160 per direction measured; DeepEP's README: a"
    " ConnectX-7 of 400 Gbit/s per GPU; else as DGX H100",
    example="dgx-h800:nodes=2",
    assumed="two NVLinks to each of four NVSwitches, which compute",
)
DGX_H200 = replace(
    DGX_H100,
    gpu="h200",
    name="dgx-h200",
    summary="8 H200, 18 x 25 GB/s (900 GB/s both ways)",
    source="DGX H200 data sheet",
    example="dgx-h200:nodes=2",
)
DGX_B200 = MachineRecord(
    "b200",
    "emerald_rapids",
    8,
    400,
    nvswitches=(9, 9),
    name="dgx-b200",
    summary="8 B200, 18 x 50 GB/s (1.8 TB/s both ways)",
    source="DGX B200 data sheet and user guide",
    example="dgx-b200:nodes=2",
)
DGX_B300 = replace(
    DGX_B200,
    gpu="b300",
    cpu="granite_rapids",
    nic=800,
    name="dgx-b300",
    summary="8 B300, 18 x 50 GB/s",
    source="S. Bekman, Machine Learning Engineering, network: ConnectX-8 of 800 Gbit/s; Klockwood: PCI of Gen6",
    example="dgx-b300:nodes=2",
    assumed="CPUs and PCI tree",
)
GB200 = MachineRecord(
    "gb200",
    "grace",
    72,
    400,
    switches=0,
    gpus=72,
    nvswitches=(18,),
    hosts=18,
    name="gb200-nvl72",
    summary="72 Blackwell, 18 x 50 GB/s",
    source="GB200 NVL72 product page: 130 TB/s = 72 x 1.8; MLPerf's system descriptions: 4 NICs and NV18 a tray",
    example="gb200-nvl72:nodes=2",
    cards="on 4 rails",
)
GB300 = replace(
    GB200,
    gpu="gb300",
    nic=800,
    name="gb300-nvl72",
    summary="72 Blackwell Ultra, 18 x 50 GB/s",
    source="Azure ND GB300 v6 page: 4 x 800 Gbit/s per tray; Klockwood: 72 ConnectX-8 a rack, PCI of Gen6",
    example="gb300-nvl72:nodes=2",
)
RUBIN = replace(
    GB200,
    gpu="rubin",
    cpu="vera",
    nic=1600,
    name="vera-rubin-nvl144",
    summary="72 Rubin packages of 2 dies (NVL144, later called NVL72), 36 x 50 GB/s",
    nvswitches=(36,),
    source="S. Bekman, Machine Learning Engineering, network: 1,800 GB/s per direction, 18 trays of 4, ConnectX-9 of"
    " 1,600 Gbit/s; announced, figures conflict",
    example="vera-rubin-nvl144:nodes=2",
    assumed="4 NICs per tray on PCI of Gen6 x16, sm 107 and NVLink-C2C of 447 GB/s per GPU",
)
MI250 = MachineRecord(
    "mi250",
    "amd",
    8,
    200,
    numa=4,
    gpus=16,
    pairs=_PACKAGES,
    name="mi250",
    summary="16 GCDs of 8 MI250, 7 xGMI of 50 GB/s",
    source="ROCm's description of the MI250; pairs and counts as in RCCL's topology file",
    example="mi250:nodes=2",
    cards="assumed",
)
MI300X = MachineRecord(
    "mi300x",
    "amd",
    8,
    400,
    pairs=_EVERY_PAIR,
    name="mi300x",
    summary="8 MI300X, 7 xGMI of 64 GB/s, fully connected",
    source="CDNA 3: 16 lanes of 32 Gbit/s per link, 128 GB/s both ways",
    example="mi300x:nodes=2",
    cards="assumed",
)
MI325X = replace(
    MI300X,
    gpu="mi325x",
    name="mi325x",
    summary="8 MI325X, 7 xGMI of 64 GB/s, fully connected",
    source="S. Bekman, Machine Learning Engineering, network: 7 x 64 GB/s",
    example="mi325x:nodes=2",
)
MI355X = replace(
    MI300X,
    gpu="mi355x",
    name="mi355x",
    summary="8 MI355X, 7 xGMI of 76.8 GB/s, fully connected",
    source="AMD's Primus: 537.6 GB/s of 7 links (S. Bekman: 535.5); OCI BM.GPU.MI355X.8: 8 NICs",
    example="mi355x:nodes=2",
    cards="their rate assumed",
)
MI350X = replace(
    MI355X,
    gpu="mi350x",
    name="mi350x",
    summary="8 MI350X, 7 xGMI of 76.8 GB/s, fully connected",
    source="AMD's Primus: 537.6 GB/s of 7 links (S. Bekman: 535.5)",
    example="mi350x:nodes=2",
    cards="assumed",
)

VENDOR_MACHINES = (
    *(DGX_1, DGX_A100, DGX_H100, DGX_H800, DGX_H200, DGX_B200, DGX_B300, GB200, GB300, RUBIN),
    *(MI250, MI300X, MI325X, MI350X, MI355X),
)
