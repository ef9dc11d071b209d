"""TPU slices, Trainium, Gaudi by name, as data. docs/topology.md says where every number comes from."""

from dataclasses import replace

from hocket.base.registry import Registry
from hocket.topology.machines.integrated import IntegratedRecord

__all__ = ["INTEGRATED"]

_GB = 10**9
_GBIT = 125_000_000  # bytes/s
_ICI_PS = 1_000_000  # of a hop; an assumption
_ICI = "latency of a hop (1 us)"
_TPU_V5P = IntegratedRecord(
    accelerator="tpu-v5p",
    library="XLA",
    shape=(4, 4, 4),
    kinds=("ring",) * 3,
    links=(100 * _GB,) * 3,
    nic=50 * _GBIT,
    latency_ps=_ICI_PS,
    most=8960,
    cube=4,
    name="tpu-v5p",
    summary="slice of TPU v5p, 3-D torus of 6 links of 100 GB/s per chip",
    source="Google Cloud's page of TPU7x: 1,200 GB/s both ways (90 per link in the scaling book); the scaling book:"
    " rings where all dimensions are multiples of 4, else lines",
    example="tpu-v5p:shape=4x4x8",
    assumed=_ICI,
)
_TPU_V6E = replace(
    _TPU_V5P,
    accelerator="tpu-v6e",
    shape=(16, 16),
    kinds=("ring",) * 2,
    links=(100 * _GB,) * 2,
    nic=100 * _GBIT,
    most=256,
    cube=0,
    around=16,
    name="tpu-v6e",
    summary="slice of TPU v6e, 2-D torus of 4 links of 100 GB/s per chip",
    source="Google Cloud's page of TPU7x: 800 GB/s both ways (90 per link in the scaling book); the scaling book: rings"
    " where a dimension is 16, else lines",
    example="tpu-v6e:shape=8x16",
)
_TPU7X = replace(
    _TPU_V5P,
    accelerator="tpu7x",
    nic=100 * _GBIT,
    most=9216,
    name="tpu7x",
    summary="slice of TPU7x (Ironwood), 3-D torus of 6 links of 100 GB/s per chip",
    source="Google Cloud's page of TPU7x: 1,200 GB/s both ways, 9,216 chips",
    example="tpu7x:shape=8x8x8",
    assumed=f"{_ICI} and where rings close (as of v5p)",
)
_NEURON = "the Neuron runtime"
_NEURON_PS = 1_000_000  # of a link; an assumption
_TRN2 = IntegratedRecord(
    accelerator="trainium2",
    library=_NEURON,
    shape=(4, 4),
    kinds=("ring",) * 2,
    links=(128 * _GB,) * 2,
    nic=200 * _GBIT,
    latency_ps=_NEURON_PS,
    name="trn2",
    summary="16 Trainium2, 4 x 4 torus of 4 NeuronLinks of 128 GB/s per chip; an EFA of 200 Gbit/s each",
    source="AWS Neuron's documentation: 1,024 GB/s per chip inside, without a direction: taken for both",
    example="trn2:nodes=2",
    assumed="latency of a link (1 us) and the direction of its bandwidth",
)
_TRN2_ULTRA = replace(
    _TRN2,
    shape=(4, 4, 4),
    kinds=("ring",) * 3,
    links=(128 * _GB, 128 * _GB, 64 * _GB),
    name="trn2-ultra",
    summary="64 Trainium2, UltraServer: 4 instances in a ring of 2 links of 64 GB/s per chip",
    source="AWS Neuron's documentation: 256 GB/s a chip between instances, without a direction: taken for both",
    example="trn2-ultra:nodes=2",
    assumed="latency of a link (1 us), the direction of its bandwidth and an EFA of 200 Gbit/s per chip",
)
_TRN3_ULTRA = replace(
    _TRN2,
    accelerator="trainium3",
    shape=(4, 18, 2),
    kinds=("switch", "switch", "fully_connected"),
    links=(128 * _GB, 160 * _GB, 64 * _GB),
    name="trn3-ultra",
    summary="144 Trainium3, UltraServer of the second generation: switches for the 4 of a server and a rack; two racks",
    source="AWS Neuron's documentation: 256 + 320 + 128 GB/s both ways per chip (2,048 GiB/s and 2.56 TB/s elsewhere in"
    " it)",
    example="trn3-ultra:nodes=2",
    assumed="latency of a link (1 us) and that chips of one place in their servers share a rack's switch",
)
_GAUDI3 = IntegratedRecord(
    accelerator="gaudi3",
    library="HCCL",
    shape=(8,),
    kinds=("fully_connected",),
    links=(75 * _GB,),
    nic=600 * _GBIT,
    latency_ps=_NEURON_PS,
    name="gaudi3",
    summary="8 Gaudi 3, fully connected by 3 links of 200 GbE a pair; 3 of each chip go out",
    source="S. Bekman, Machine Learning Engineering, network: 24 x 200 GbE a chip; Intel: 21 of them inside",
    example="gaudi3:nodes=2",
    assumed="latency of a link (1 us)",
)

INTEGRATED = Registry("machine", (_TPU_V5P, _TPU_V6E, _TPU7X, _TRN2, _TRN2_ULTRA, _TRN3_ULTRA, _GAUDI3))
