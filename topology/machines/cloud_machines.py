"""Machines as clouds rent them: the vendors' but for NICs, CPUs and PCI tree."""

from dataclasses import replace

from hocket.topology.machines.record import MachineRecord, NicLatency
from hocket.topology.machines.vendor_machines import (
    DGX_1,
    DGX_A100,
    DGX_B200,
    DGX_B300,
    DGX_H100,
    DGX_H200,
    GB200,
    GB300,
    MI300X,
)

__all__ = ["CLOUD_MACHINES"]

# What aws-ofi-nccl tells NCCL (src/platform-aws.cpp of 2026-08), and what a step takes: half of what the smallest
# all_reduce of two nodes takes more in awsome-distributed-training's tables (p4de 163.8 us, p5 70.8 us) than NCCL's
# 25.2 us. Of p5en and all P6 there is no such table: as p5's.
_EFA_1 = NicLatency(told_us=75, takes_us=69)
_EFA_2 = NicLatency(told_us=75, takes_us=23)
_EFA_3 = NicLatency(told_us=35, takes_us=23)

P4D = replace(
    DGX_A100,
    cpu="skylake",
    nics=4,
    nic=100,
    numa=2,
    lane_speed=60,
    ports="rdmap",
    memory="40gb",
    latency=_EFA_1,
    name="p4d",
    summary="8 A100, 12 x 25 GB/s, PCI of Gen3",
    source="AWS EC2 P4 page: 400 Gbit/s; the tree of aws-ofi-nccl's topology file",
    example="p4d:nodes=2",
    cards="EFA, each of 2 GPUs",
)
P5 = replace(
    DGX_H100,
    cpu="amd",
    ports="rdmap",
    latency=_EFA_2,
    name="p5",
    summary="8 H100",
    source="AWS EC2 user guide: up to 32 network cards, 3,200 Gbit/s",
    example="p5:nodes=2",
    cards="32 EFA of 100, 4 per GPU as one",
)
_AWS = (
    P4D,
    replace(P4D, memory="", name="p4de", example="p4de:nodes=2"),
    P5,
    replace(
        P5,
        gpu="h200",
        name="p5e",
        summary="8 H200",
        source="S. Bekman, Machine Learning Engineering, network: 32 EFA of 100 Gbit/s, as p5",
        example="p5e:nodes=2",
    ),
    replace(
        DGX_H200,
        ports="rdmap",
        latency=_EFA_3,
        name="p5en",
        summary="8 H200",
        source="AWS EC2 P5 page: 3,200 Gbit/s; TorchX: 16 EFA",
        example="p5en:nodes=2",
        cards="16 EFA of 200, 2 per GPU as one",
    ),
    replace(
        DGX_B200,
        ports="rdmap",
        latency=_EFA_3,
        name="p6-b200",
        summary="8 B200",
        source="AWS EC2 P6 page: 3,200 Gbit/s; public reports: 8 EFA of 400",
        example="p6-b200:nodes=2",
        cards="EFA",
    ),
    replace(
        DGX_B300,
        cpu="emerald_rapids",
        ports="rdmap",
        latency=_EFA_3,
        name="p6-b300",
        summary="8 B300",
        source="S. Bekman, Machine Learning Engineering, network: 6,400 Gbit/s, 16 EFA",
        example="p6-b300:nodes=2",
        cards="16 EFA of 400, 2 per GPU as one",
    ),
    replace(
        GB200,
        ports="rdmap",
        latency=_EFA_3,
        name="p6e-gb200",
        summary="72 GB200, UltraServer of 18 instances",
        source="AWS EC2 P6e pages: 28.8 Tbit/s of EFA for 72 GPUs; an UltraServer of 9 instances is gpus=36",
        example="p6e-gb200:nodes=2",
        cards="EFA, on 4 rails",
    ),
)
_AZURE = (
    replace(
        DGX_1,
        cpu="skylake",
        nics=1,
        switches=0,
        ports="mlx5_ib",
        name="ndv2",
        summary="8 V100 as in DGX-1",
        source="Azure NDv2 page; Azure's topology file",
        example="ndv2:nodes=2",
        cards="EDR",
    ),
    replace(
        DGX_A100,
        ports="mlx5_ib",
        memory="40gb",
        name="ndv4",
        summary="8 A100",
        source="Azure ND A100 v4 page; Azure's topology file",
        example="ndv4:nodes=2",
        cards="HDR",
    ),
    replace(
        DGX_H100,
        ports="mlx5_ib",
        name="ndv5",
        summary="8 H100",
        source="Azure ND H100 v5 page; Azure's topology file",
        example="ndv5:nodes=2",
        cards="NDR",
    ),
    replace(
        DGX_H200,
        ports="mlx5_ib",
        name="ndv5-h200",
        summary="8 H200",
        source="Azure ND H200 v5 page: 8 x 400 Gbit/s NDR; the tree of ND H100 v5",
        example="ndv5-h200:nodes=2",
        cards="NDR",
    ),
    replace(
        MI300X,
        cpu="sapphire_rapids",
        ports="mlx5_ib",
        name="ndv5-mi300x",
        summary="8 MI300X",
        source="Azure ND MI300X v5 page: 8 x 400 Gbit/s NDR",
        example="ndv5-mi300x:nodes=2",
        cards="NDR",
    ),
    replace(
        GB200,
        ports="mlx5_ib",
        name="ndv6-gb200",
        summary="72 GB200",
        source="Azure ND GB200 v6 page (its columns of links swap their units): 4 x 400 Gbit/s of 4 GPUs",
        example="ndv6-gb200:nodes=2",
        cards="NDR, on 4 rails",
    ),
    replace(
        GB300,
        ports="mlx5_ib",
        name="ndv6-gb300",
        summary="72 GB300",
        source="Azure ND GB300 v6 page: 4 x 800 Gbit/s of 4 GPUs",
        example="ndv6-gb300:nodes=2",
        cards="on 4 rails",
    ),
)
_GOOGLE_PAGE = "Google Cloud's page of network bandwidth"
_GOOGLE = (
    replace(
        DGX_H100,
        nic=200,
        ports="eth",
        name="a3-mega",
        summary="8 H100",
        source=f"{_GOOGLE_PAGE}: 1,600 Gbit/s for GPUs (1,800 with the front end)",
        example="a3-mega:nodes=2",
        cards="GPUDirect-TCPXO",
        fabric="TCPXO",
        assumed="CPUs and PCI tree",
    ),
    replace(
        DGX_H200,
        name="a3-ultra",
        summary="8 H200",
        source=f"{_GOOGLE_PAGE}: 3,200 Gbit/s for GPUs",
        example="a3-ultra:nodes=2",
        cards="ConnectX-7, RoCE",
        assumed="CPUs and PCI tree",
    ),
    replace(
        DGX_B200,
        name="a4",
        summary="8 B200",
        source=f"{_GOOGLE_PAGE}: 3,200 Gbit/s for GPUs",
        example="a4:nodes=2",
        cards="ConnectX-7, RoCE",
        assumed="CPUs and PCI tree",
    ),
    replace(
        GB200,
        name="a4x",
        summary="72 GB200",
        source=f"{_GOOGLE_PAGE}: 1,600 Gbit/s of 4 GPUs, 4 rails",
        example="a4x:nodes=2",
        cards="ConnectX-7, on 4 rails",
    ),
    replace(
        GB300,
        name="a4x-max",
        summary="72 GB300",
        source=f"{_GOOGLE_PAGE}: 3,200 Gbit/s of 4 GPUs; AICR: two ports of 400 a NIC, 8 rails",
        example="a4x-max:nodes=2",
        cards="ConnectX-8, two ports as one, on 4 rails",
    ),
)

CLOUD_MACHINES: tuple[MachineRecord, ...] = (*_AWS, *_AZURE, *_GOOGLE)
