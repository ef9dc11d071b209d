// A stand-in for AMD's system management library: the GPUs of this host, every two of them joined by one xGMI. RCCL
// asks it where RCCL_USE_AMD_SMI_LIB is 1; otherwise it reads the kernel's files, which only machines with such GPUs
// have.
#include <amd_smi/amdsmi.h>

#include <cstdio>
#include <cstring>

#include "device.hpp"

using hocket::stand_in::bus_ids;

#define SMI extern "C" __attribute__((visibility("default"))) amdsmi_status_t

namespace {

constexpr uint64_t kFirmware = 200;  // newer than what RCCL asks of gfx942 (177) and gfx950 (24)

template <class Handle>
Handle handle_of(size_t index) {
  return reinterpret_cast<Handle>(index + 1);
}
size_t index_of(const void* handle) { return reinterpret_cast<size_t>(handle) - 1; }

amdsmi_bdf_t bdf_of(size_t index) {
  unsigned domain = 0, bus = 0, slot = 0, function = 0;
  sscanf(bus_ids()[index].c_str(), "%x:%x:%x.%x", &domain, &bus, &slot, &function);
  amdsmi_bdf_t bdf{};
  bdf.domain_number = domain;
  bdf.bus_number = bus;
  bdf.device_number = slot;
  bdf.function_number = function;
  return bdf;
}

}  // namespace

SMI amdsmi_init(uint64_t) { return AMDSMI_STATUS_SUCCESS; }
SMI amdsmi_shut_down() { return AMDSMI_STATUS_SUCCESS; }
SMI amdsmi_get_lib_version(amdsmi_version_t* version) {
  memset(version, 0, sizeof *version);
  version->build = "hocket";
  return AMDSMI_STATUS_SUCCESS;
}
SMI amdsmi_status_code_to_string(amdsmi_status_t, const char** text) {
  *text = "refused by the stand-in for AMD SMI";
  return AMDSMI_STATUS_SUCCESS;
}

// One socket that has all GPUs; where the array is null it is only asked how many there are.
SMI amdsmi_get_socket_handles(uint32_t* count, amdsmi_socket_handle* sockets) {
  *count = 1;
  if (sockets) sockets[0] = handle_of<amdsmi_socket_handle>(0);
  return AMDSMI_STATUS_SUCCESS;
}
SMI amdsmi_get_processor_handles(amdsmi_socket_handle, uint32_t* count, amdsmi_processor_handle* processors) {
  *count = static_cast<uint32_t>(bus_ids().size());
  for (uint32_t i = 0; processors && i < *count; i++) processors[i] = handle_of<amdsmi_processor_handle>(i);
  return AMDSMI_STATUS_SUCCESS;
}
SMI amdsmi_get_processor_type(amdsmi_processor_handle, processor_type_t* type) {
  *type = AMDSMI_PROCESSOR_TYPE_AMD_GPU;
  return AMDSMI_STATUS_SUCCESS;
}
SMI amdsmi_get_gpu_enumeration_info(amdsmi_processor_handle processor, amdsmi_enumeration_info_t* info) {
  memset(info, 0, sizeof *info);
  info->hip_id = static_cast<uint32_t>(index_of(processor));
  return AMDSMI_STATUS_SUCCESS;
}
SMI amdsmi_get_gpu_bdf_id(amdsmi_processor_handle processor, uint64_t* id) {
  amdsmi_bdf_t bdf = bdf_of(index_of(processor));
  *id = static_cast<uint64_t>(bdf.domain_number) << 20 | bdf.bus_number << 12 | bdf.device_number << 4 |
        bdf.function_number;  // as RCCL takes it apart
  return AMDSMI_STATUS_SUCCESS;
}
SMI amdsmi_get_processor_handle_from_bdf(amdsmi_bdf_t bdf, amdsmi_processor_handle* processor) {
  for (size_t i = 0; i < bus_ids().size(); i++) {
    amdsmi_bdf_t known = bdf_of(i);
    if (known.domain_number == bdf.domain_number && known.bus_number == bdf.bus_number &&
        known.device_number == bdf.device_number) {
      *processor = handle_of<amdsmi_processor_handle>(i);
      return AMDSMI_STATUS_SUCCESS;
    }
  }
  return AMDSMI_STATUS_NOT_FOUND;
}

// Links
SMI amdsmi_topo_get_link_type(amdsmi_processor_handle, amdsmi_processor_handle, uint64_t* hops,
                              amdsmi_link_type_t* type) {
  *hops = 1;
  *type = AMDSMI_LINK_TYPE_XGMI;
  return AMDSMI_STATUS_SUCCESS;
}
SMI amdsmi_topo_get_link_weight(amdsmi_processor_handle, amdsmi_processor_handle, uint64_t* weight) {
  *weight = 15;  // of one xGMI
  return AMDSMI_STATUS_SUCCESS;
}
SMI amdsmi_get_minmax_bandwidth_between_processors(amdsmi_processor_handle, amdsmi_processor_handle, uint64_t* least,
                                                   uint64_t* most) {
  *least = *most = 1;  // as many links as most is times least
  return AMDSMI_STATUS_SUCCESS;
}

SMI amdsmi_get_fw_info(amdsmi_processor_handle, amdsmi_fw_info_t* info) {
  memset(info, 0, sizeof *info);
  info->num_fw_info = 1;
  info->fw_info_list[0].fw_version = kFirmware;
  return AMDSMI_STATUS_SUCCESS;
}
