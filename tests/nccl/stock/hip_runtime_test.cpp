// The stand-ins for HIP's runtime and AMD SMI, asked as RCCL asks them.
#include <amd_smi/amdsmi.h>
#include <hip/hip_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "device.hpp"

#define CHECK(condition)                                 \
  do {                                                   \
    if (!(condition)) {                                  \
      fprintf(stderr, "%d: %s\n", __LINE__, #condition); \
      exit(1);                                           \
    }                                                    \
  } while (false)

namespace {

void devices() {
  int count = 0;
  CHECK(hipGetDeviceCount(&count) == hipSuccess && count == 2);
  CHECK(hipSetDevice(2) == hipErrorInvalidDevice && hipSetDevice(1) == hipSuccess);
  hipDeviceProp_t properties;
  CHECK(hipGetDeviceProperties(&properties, 1) == hipSuccess);
  CHECK(strncmp(properties.gcnArchName, "gfx950:", 7) == 0);
  CHECK(properties.multiProcessorCount == 256 && properties.warpSize == 64 && properties.pciBusID == 0x14);
  int minor = 0;
  CHECK(hipDeviceGetAttribute(&minor, hipDeviceAttributeComputeCapabilityMinor, 0) == hipSuccess && minor == 5);
}

/** Memory is zero where it was set so, in the middle of a page and over whole pages. */
void memory() {
  constexpr size_t kBytes = 1 << 20;
  char* made = nullptr;
  CHECK(hipMalloc(reinterpret_cast<void**>(&made), kBytes) == hipSuccess);
  CHECK(hipMemset(made, 7, kBytes) == hipSuccess);
  CHECK(hipMemset(made + 100, 0, kBytes - 200) == hipSuccess);
  CHECK(made[99] == 7 && made[100] == 0 && made[8192] == 0 && made[kBytes - 101] == 0 && made[kBytes - 100] == 7);
  hipPointerAttribute_t attributes;
  CHECK(hipPointerGetAttributes(&attributes, made + 5) == hipSuccess);
  CHECK(attributes.type == hipMemoryTypeDevice && attributes.device == 1);
  CHECK(hipFree(made) == hipSuccess && hipPointerGetAttributes(&attributes, made) == hipErrorInvalidValue);
}

void streams() {
  hipStream_t stream, other;
  hipEvent_t event;
  char *from = nullptr, *to = nullptr;
  CHECK(hipStreamCreateWithFlags(&stream, 0) == hipSuccess && hipStreamCreateWithFlags(&other, 0) == hipSuccess);
  CHECK(hipEventCreateWithFlags(&event, 0) == hipSuccess);
  CHECK(hipMalloc(reinterpret_cast<void**>(&from), 64) == hipSuccess);
  CHECK(hipHostMalloc(reinterpret_cast<void**>(&to), 64, 0) == hipSuccess);
  CHECK(hipMemsetAsync(from, 3, 64, stream) == hipSuccess && hipEventRecord(event, stream) == hipSuccess);
  CHECK(hipStreamWaitEvent(other, event, 0) == hipSuccess);
  CHECK(hipMemcpyAsync(to, from, 64, hipMemcpyDeviceToHost, other) == hipSuccess);
  CHECK(hipStreamSynchronize(other) == hipSuccess && hipEventQuery(event) == hipSuccess && to[63] == 3);
  long before = hocketLaunches();
  CHECK(hipExtLaunchKernel(nullptr, dim3(4), dim3(256), nullptr, 0, stream, nullptr, event, 0) == hipSuccess);
  CHECK(hipEventSynchronize(event) == hipSuccess && hocketLaunches() == before + 1);
}

void management() {
  uint32_t count = 0;
  amdsmi_socket_handle socket;
  CHECK(amdsmi_get_socket_handles(&count, nullptr) == AMDSMI_STATUS_SUCCESS && count == 1);
  CHECK(amdsmi_get_socket_handles(&count, &socket) == AMDSMI_STATUS_SUCCESS);
  amdsmi_processor_handle gpus[2];
  CHECK(amdsmi_get_processor_handles(socket, &count, gpus) == AMDSMI_STATUS_SUCCESS && count == 2);
  amdsmi_bdf_t place{0, 0, 0x14, 0};
  amdsmi_processor_handle found = nullptr;
  CHECK(amdsmi_get_processor_handle_from_bdf(place, &found) == AMDSMI_STATUS_SUCCESS && found == gpus[1]);
  amdsmi_enumeration_info_t info;
  CHECK(amdsmi_get_gpu_enumeration_info(found, &info) == AMDSMI_STATUS_SUCCESS && info.hip_id == 1);
  uint64_t hops = 0, id = 0;
  amdsmi_link_type_t type;
  CHECK(amdsmi_topo_get_link_type(gpus[0], gpus[1], &hops, &type) == AMDSMI_STATUS_SUCCESS);
  CHECK(hops == 1 && type == AMDSMI_LINK_TYPE_XGMI);
  CHECK(amdsmi_get_gpu_bdf_id(found, &id) == AMDSMI_STATUS_SUCCESS && id == 0x14000);
}

}  // namespace

int main() {
  devices();
  memory();
  streams();
  management();
  printf("passed\n");
  fflush(nullptr);
  _Exit(0);  // streams' threads end with the process
}
