"""CUDA's names in RCCL's sources as HIP's: what ROCm's hipify-perl does of it in RCCL's own build."""

import re

__all__ = ["hipified"]

_HEADERS = {
    "cuda.h": "hip/hip_runtime.h",
    "cuda_runtime.h": "hip/hip_runtime.h",
    "cuda_runtime_api.h": "hip/hip_runtime_api.h",
    "cuda_fp16.h": "hip/hip_fp16.h",
    "cuda_bf16.h": "hip/hip_bf16.h",
    "cuda_fp8.h": "hip/hip_fp8.h",
}
#: HIP's names that are not CUDA's with another prefix.
_NAMES = {
    "CUdeviceptr": "hipDeviceptr_t",
    "CUmemGenericAllocationHandle": "hipMemGenericAllocationHandle_t",
    "CUmemAllocationHandleType": "hipMemAllocationHandleType",
    "CUmemAllocationProp": "hipMemAllocationProp",
    "CUmemAccessDesc": "hipMemAccessDesc",
    "CUresult": "hipError_t",
    "CUdevice": "hipDevice_t",
    "CUcontext": "hipCtx_t",
    "CUfunction": "hipFunction_t",
    "CUstream": "hipStream_t",
    "CUevent": "hipEvent_t",
    "CUmodule": "hipModule_t",
    "CUDA_SUCCESS": "hipSuccess",
    "CU_MEM_ALLOCATION_TYPE_PINNED": "hipMemAllocationTypePinned",
    "CU_MEM_LOCATION_TYPE_DEVICE": "hipMemLocationTypeDevice",
    "CU_MEM_LOCATION_TYPE_HOST_NUMA": "hipMemLocationTypeHostNuma",
    "CU_MEM_ACCESS_FLAGS_PROT_READWRITE": "hipMemAccessFlagsProtReadWrite",
    "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR": "hipMemHandleTypePosixFileDescriptor",
    "CU_MEM_HANDLE_TYPE_NONE": "hipMemHandleTypeNone",
    "CU_MEM_ALLOC_GRANULARITY_MINIMUM": "hipMemAllocationGranularityMinimum",
    "CU_MEM_ALLOC_GRANULARITY_RECOMMENDED": "hipMemAllocationGranularityRecommended",
    "CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED": "hipDeviceAttributeVirtualMemoryManagementSupported",
    "cudaMallocHost": "hipHostMalloc",
    "cudaHostAlloc": "hipHostMalloc",
    "cudaHostAllocMapped": "hipHostMallocMapped",
    "cudaFreeHost": "hipHostFree",
    "cudaDeviceProp": "hipDeviceProp_t",
    "cudaPointerAttributes": "hipPointerAttribute_t",
    "cudaDevAttrComputeCapabilityMajor": "hipDeviceAttributeComputeCapabilityMajor",
    "cudaDevAttrComputeCapabilityMinor": "hipDeviceAttributeComputeCapabilityMinor",
    "cudaDevAttrMaxSharedMemoryPerBlockOptin": "hipDeviceAttributeSharedMemPerBlockOptin",
    "cudaDevAttrGPUDirectRDMASupported": "hipDeviceAttributeVirtualMemoryManagementSupported",
    "requestedHandleTypes": "requestedHandleType",
    "__CUDACC__": "__HIPCC__",
}
_OTHERS = _HEADERS | _NAMES
_OTHER = re.compile(r"\b(" + "|".join(map(re.escape, sorted(_OTHERS, key=len, reverse=True))) + r")\b")
_RUNTIME = re.compile(r"\bcuda([A-Z]\w*)")
_DRIVER = re.compile(r"\bcu((?:Mem|Stream|Device|Ctx|Event|Get|Module|Launch|Func|Pointer|Init|Multicast)\w*)\b(?=\()")
#: Variables of RCCL's own that are called like CUDA's functions.
_OWN = re.compile(r"(Driver|Host)$|(Dev|Arch|CompCap|Buff|Ctx)(?!ice|Attr)")


def hipified(text: str) -> str:
    """The text of a source file, over HIP."""
    text = _OTHER.sub(lambda found: _OTHERS[found[1]], text)
    text = _RUNTIME.sub(lambda found: found[0] if _OWN.match(found[1]) else "hip" + found[1], text)
    return _DRIVER.sub(r"hip\1", text)
