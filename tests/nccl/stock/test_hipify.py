"""CUDA's names as HIP's, in lines like those of RCCL's sources."""

import pytest

from hocket.nccl.stock.hipify import hipified


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("#include <cuda_runtime.h>", "#include <hip/hip_runtime.h>"),
        ("CUDACHECK(cudaMalloc(&p, n));", "CUDACHECK(hipMalloc(&p, n));"),
        ("cudaDeviceProp prop; cudaFreeHost(p);", "hipDeviceProp_t prop; hipHostFree(p);"),
        ("cudaDevAttrComputeCapabilityMajor", "hipDeviceAttributeComputeCapabilityMajor"),
        ("CUCHECK(cuMemCreate(&h, n, &prop, 0));", "CUCHECK(hipMemCreate(&h, n, &prop, 0));"),
        ("CUPFN(cuMemCreate) == NULL", "CUPFN(cuMemCreate) == NULL"),
        ("int cudaDev = comm->cudaDev, cudaArch;", "int cudaDev = comm->cudaDev, cudaArch;"),
    ],
)
def test_names(line: str, said: str) -> None:
    assert hipified(line) == said
