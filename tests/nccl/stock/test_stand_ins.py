"""The stand-ins by themselves, under AddressSanitizer and UndefinedBehaviorSanitizer."""

import os
import subprocess
from pathlib import Path

from nccl_releases import needs_cuda_headers, needs_rocm_headers

from hocket.nccl.stock.builder import STAND_INS
from hocket.nccl.stock.cuda_headers import find_cuda_headers
from hocket.nccl.stock.nccl_builder import CUDA
from hocket.nccl.stock.rocm_headers import find_rocm_headers

HERE = Path(__file__).parent
SANITIZED = ["g++", "-std=c++17", "-g", "-O1", "-pthread", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
HIP = ("device", "streams", "runtime", "hip_runtime", "amd_smi")


def passes(program: Path, environment: dict[str, str]) -> None:
    options = {"ASAN_OPTIONS": "detect_leaks=0"}  # streams and their tables outlive the process on purpose
    done = subprocess.run([program], env=os.environ | options | environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout == "passed\n", done.stderr


def test_the_net_plugin_carries_messages(tmp_path: Path) -> None:
    program = tmp_path / "net"
    subprocess.run([*SANITIZED, f"-I{STAND_INS}", HERE / "net_plugin_driver.cpp", "-o", program], check=True)
    passes(program, {"HOCKET_NICS": "mlx5_0,400000,0;mlx5_1,400000,35"})


@needs_cuda_headers
def test_the_stand_in_for_cuda_keeps_its_order(tmp_path: Path) -> None:
    program = tmp_path / "cuda"
    headers = [f"-isystem{folder}" for folder in find_cuda_headers().folders]
    sources = [STAND_INS / f"{name}.cpp" for name in CUDA]
    test = HERE / "cuda_driver_test.cpp"
    subprocess.run([*SANITIZED, "-w", *headers, f"-I{STAND_INS}", *sources, test, "-o", program], check=True)
    passes(program, {"HOCKET_GPUS": "0000:1b:00.0,0000:1c:00.0", "HOCKET_MULTICAST": "1"})


@needs_rocm_headers
def test_the_stand_in_for_hip_and_amd_smi_answers_as_rccl_asks(tmp_path: Path) -> None:
    program = tmp_path / "hip"
    headers = [f"-I{STAND_INS / 'rccl' / 'include'}", *(f"-isystem{folder}" for folder in find_rocm_headers().folders)]
    sources = [STAND_INS / f"{name}.cpp" for name in HIP]
    test = HERE / "hip_runtime_test.cpp"
    platform = ["-w", "-D__HIP_PLATFORM_AMD__=1"]
    subprocess.run([*SANITIZED, *platform, *headers, f"-I{STAND_INS}", *sources, test, "-o", program], check=True)
    gpus = {"HOCKET_GPUS": "0000:11:00.0,0000:14:00.0", "HOCKET_GFX": "gfx950", "HOCKET_CUS": "256"}
    passes(program, gpus)
