"""Accelerators' figures, as data.

Dense rates (NVIDIA's sheets give those with sparsity, twice as much) and memory are the vendors' data sheets', NVFP4's
those of DGX B200, GB200 NVL72, DGX B300 and GB300 NVL72, a GPU. The efficiency is the best that large BF16 matrix
multiplications were measured to reach, in the table "Maximum Achievable Matmul FLOPS" of S. Bekman, Machine Learning
Engineering (github.com/stas00/ml-engineering, compute/accelerator), that of FP8 likewise: 1403 of H100's 1979 TFLOP/s,
3433 of B200's 4500. H200 has H100's chip, both A100 the same, GB300 B300's. Of those without one nobody measured it.
Nothing there measures memory: what kernels reach of it is of published steps (`workload/kernels.py`).
"""

from typing import NamedTuple

__all__ = ["FIGURES", "Figures"]

_BEKMAN = "S. Bekman, Machine Learning Engineering, compute/accelerator"
_GOOGLE = "Google Cloud's page of TPU7x"
_NEURON = "AWS Neuron's documentation"


class Figures(NamedTuple):
    """Rates without a number are of formats that it lacks; `devices`: how drivers call it."""

    name: str
    summary: str
    bf16: str
    fp16: str
    fp8: str
    bandwidth: str
    memory: str
    efficiency: str = ""
    devices: tuple[str, ...] = ()
    source: str = ""
    fp8_efficiency: str = ""
    fp4: str = ""


# fmt: off
FIGURES = (
    Figures("v100", "NVIDIA V100 SXM2 32GB", "", "125TFLOP/s", "", "900GB/s", "32GB", "", ("V100",)),
    Figures("a100", "NVIDIA A100 SXM 80GB", "312TFLOP/s", "312TFLOP/s", "", "2039GB/s", "80GB", "0.869", ("A100",)),
    Figures("a100-40gb", "NVIDIA A100 SXM 40GB", "312TFLOP/s", "312TFLOP/s", "", "1555GB/s", "40GB",
            "0.869", ("A100-SXM4-40GB", "A100-PCIE-40GB")),
    Figures("h100", "NVIDIA H100 SXM", "989.4TFLOP/s", "989.4TFLOP/s", "1978.9TFLOP/s", "3.35TB/s", "80GB",
            "0.803", ("H100",), fp8_efficiency="0.709"),
    Figures("h800", "NVIDIA H800 SXM", "989.4TFLOP/s", "989.4TFLOP/s", "1978.9TFLOP/s", "3.35TB/s", "80GB",
            "0.803", ("H800",), "as H100, whose chip it is; less FP64 alone", fp8_efficiency="0.709"),
    Figures("h200", "NVIDIA H200 SXM", "989.4TFLOP/s", "989.4TFLOP/s", "1978.9TFLOP/s", "4.8TB/s", "141GB",
            "0.803", ("H200",), fp8_efficiency="0.709"),
    Figures("b200", "NVIDIA HGX B200", "2250TFLOP/s", "2250TFLOP/s", "4500TFLOP/s", "7.7TB/s", "180GB",
            "0.776", ("B200",), fp8_efficiency="0.763", fp4="9PFLOP/s"),
    Figures("gb200", "NVIDIA GB200, one GPU", "2500TFLOP/s", "2500TFLOP/s", "5000TFLOP/s", "8TB/s", "186GB",
            "0.729", ("GB200",), f"{_BEKMAN}; MLPerf's system descriptions: 186 GB",
            fp8_efficiency="0.763", fp4="10PFLOP/s"),
    Figures("b300", "NVIDIA HGX B300", "2250TFLOP/s", "2250TFLOP/s", "4500TFLOP/s", "8TB/s", "288GB",
            "0.786", ("B300",), f"{_BEKMAN}; 7.7 TB/s and 270 GB elsewhere", fp8_efficiency="0.763", fp4="13.5PFLOP/s"),
    Figures("gb300", "NVIDIA GB300, one GPU", "2500TFLOP/s", "2500TFLOP/s", "5000TFLOP/s", "8TB/s", "288GB",
            "0.786", ("GB300",), f"{_BEKMAN}; 279 GB usable", fp8_efficiency="0.763", fp4="15PFLOP/s"),
    Figures("rubin", "NVIDIA Rubin, a package of two dies", "4000TFLOP/s", "4000TFLOP/s", "17.5PFLOP/s", "22TB/s",
            "288GB", "", ("Rubin",), f"{_BEKMAN}: announced (13 TB/s at first)", fp4="35PFLOP/s"),
    Figures("mi250", "AMD Instinct MI250, one of its two GCDs", "181TFLOP/s", "181TFLOP/s", "", "1.6TB/s", "64GB",
            "", ("MI250",), "data sheet of AMD Instinct MI250, halved: 362.1 TFLOP/s, 3.2 TB/s, 128 GB"),
    Figures("mi300x", "AMD Instinct MI300X", "1307.4TFLOP/s", "1307.4TFLOP/s", "2614.9TFLOP/s", "5.3TB/s", "192GB",
            "0.511", ("MI300X",)),
    Figures("mi325x", "AMD Instinct MI325X", "1300TFLOP/s", "1300TFLOP/s", "2610TFLOP/s", "6TB/s", "256GB",
            "0.604", ("MI325X",), _BEKMAN),
    Figures("mi350x", "AMD Instinct MI350X", "2300TFLOP/s", "2300TFLOP/s", "4600TFLOP/s", "8TB/s", "288GB",
            "", ("MI350X",), f"{_BEKMAN}: memory; rates assumed 8 % below MI355X's, as The Register says"),
    Figures("mi355x", "AMD Instinct MI355X", "2500TFLOP/s", "2500TFLOP/s", "5000TFLOP/s", "8TB/s", "288GB",
            "0.626", ("MI355X",), f"{_BEKMAN}; 2,300 TFLOP/s in another table of it", fp4="10PFLOP/s"),
    Figures("tpu-v5p", "Google TPU v5p", "459TFLOP/s", "", "", "2765GB/s", "95GiB", "", (), _GOOGLE),
    Figures("tpu-v6e", "Google TPU v6e (Trillium)", "918TFLOP/s", "", "", "1638GB/s", "32GiB", "", (), _GOOGLE),
    Figures("tpu7x", "Google TPU7x (Ironwood), a chip", "2307TFLOP/s", "", "4614TFLOP/s", "7380GB/s", "192GiB",
            "", (), _GOOGLE),
    Figures("trainium2", "AWS Trainium2", "667TFLOP/s", "667TFLOP/s", "1299TFLOP/s", "2.9TB/s", "96GiB",
            "", (), _NEURON),
    Figures("trainium3", "AWS Trainium3", "671TFLOP/s", "671TFLOP/s", "2517TFLOP/s", "4.9TB/s", "144GiB",
            "", (), _NEURON),
    Figures("gaudi3", "Intel Gaudi 3", "1677TFLOP/s", "1677TFLOP/s", "1677TFLOP/s", "3.7TB/s", "128GB",
            "0.741", (), f"{_BEKMAN}; 1,835 TFLOP/s in the white paper, at a higher clock"),
)
# fmt: on
