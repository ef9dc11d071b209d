"""Who makes GPUs, and how their run-time compiler and driver are called. AMD's are NVIDIA's by other names."""

from dataclasses import dataclass

from hocket.base.errors import HocketError

__all__ = ["AMD", "NVIDIA", "Vendor", "vendor_of"]


@dataclass(frozen=True, slots=True)
class Vendor:
    """`compiler` and `driver`: what their functions' names begin with; `places`: where the compiler may be below a
    folder of `sys.path`, then `libraries` of the system; `code`: what machine code is called; `remedy`: who has it."""

    name: str
    compiler: str
    places: tuple[str, ...]
    libraries: tuple[str, ...]
    architecture_option: str
    options: tuple[str, ...]
    code: str
    remedy: str
    driver: str
    driver_libraries: tuple[str, ...]
    launch: str
    error_text: str
    #: Of an architecture's name.
    prefix: str


NVIDIA = Vendor(
    "NVIDIA",
    "nvrtc",
    ("nvidia/cu*/lib/libnvrtc.so.*", "nvidia/cuda_nvrtc/lib/libnvrtc.so.*"),
    ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"),
    "--gpu-architecture=",
    ("--std=c++17", "-default-device", "--ptxas-options=-v", "--fmad=false"),
    "CUBIN",
    "it comes with PyTorch for CUDA, or: pip install nvidia-cuda-nvrtc",
    "cu",
    ("libcuda.so.1",),
    "LaunchKernel",
    "cuGetErrorString",
    "sm_",
)

AMD = Vendor(
    "AMD",
    "hiprtc",
    ("torch/lib/libhiprtc.so*", "_rocm_sdk_core/lib/libhiprtc.so*"),
    ("libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so"),
    "--offload-arch=",
    ("-std=c++17", "-O3", "-ffp-contract=off"),
    "Code",
    "it comes with PyTorch for ROCm, and with ROCm",
    "hip",
    ("libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so"),
    "ModuleLaunchKernel",
    "hipDrvGetErrorString",
    "gfx",
)


def vendor_of(architecture: str) -> Vendor:
    """Of `sm_90` or `gfx942`. Raises HocketError for any other."""
    for vendor in (NVIDIA, AMD):
        if architecture.startswith(vendor.prefix):
            return vendor
    raise HocketError(f"'{architecture}' is no GPU architecture: expected one such as sm_90 or gfx942")
