// The part of AMD's system management interface that RCCL asks, in our words: amd_smi.cpp answers it.
#pragma once
#include <stdint.h>

typedef void* amdsmi_socket_handle;
typedef void* amdsmi_processor_handle;
enum amdsmi_status_t { AMDSMI_STATUS_SUCCESS = 0, AMDSMI_STATUS_NOT_FOUND = 31 };
enum { AMDSMI_INIT_AMD_GPUS = 2 };
enum processor_type_t { AMDSMI_PROCESSOR_TYPE_AMD_GPU = 1 };
enum amdsmi_link_type_t {
  AMDSMI_LINK_TYPE_INTERNAL,
  AMDSMI_LINK_TYPE_XGMI,
  AMDSMI_LINK_TYPE_PCIE,
  AMDSMI_LINK_TYPE_NOT_APPLICABLE,
  AMDSMI_LINK_TYPE_UNKNOWN
};
struct amdsmi_version_t {
  uint32_t major, minor, release;
  const char* build;
};
struct amdsmi_bdf_t {
  uint64_t function_number, device_number, bus_number, domain_number;
};
struct amdsmi_enumeration_info_t {
  uint32_t hip_id;
};
struct amdsmi_fw_info_t {
  uint8_t num_fw_info;
  struct {
    uint64_t fw_version;
  } fw_info_list[1];
};

extern "C" {
amdsmi_status_t amdsmi_init(uint64_t flags);
amdsmi_status_t amdsmi_shut_down();
amdsmi_status_t amdsmi_get_lib_version(amdsmi_version_t* version);
amdsmi_status_t amdsmi_status_code_to_string(amdsmi_status_t status, const char** text);
amdsmi_status_t amdsmi_get_socket_handles(uint32_t* count, amdsmi_socket_handle* sockets);
amdsmi_status_t amdsmi_get_processor_handles(amdsmi_socket_handle, uint32_t* count, amdsmi_processor_handle* found);
amdsmi_status_t amdsmi_get_processor_type(amdsmi_processor_handle, processor_type_t* type);
amdsmi_status_t amdsmi_get_gpu_enumeration_info(amdsmi_processor_handle, amdsmi_enumeration_info_t* info);
amdsmi_status_t amdsmi_get_gpu_bdf_id(amdsmi_processor_handle, uint64_t* id);
amdsmi_status_t amdsmi_get_processor_handle_from_bdf(amdsmi_bdf_t bdf, amdsmi_processor_handle* found);
amdsmi_status_t amdsmi_topo_get_link_type(amdsmi_processor_handle, amdsmi_processor_handle, uint64_t* hops,
                                          amdsmi_link_type_t* type);
amdsmi_status_t amdsmi_topo_get_link_weight(amdsmi_processor_handle, amdsmi_processor_handle, uint64_t* weight);
amdsmi_status_t amdsmi_get_minmax_bandwidth_between_processors(amdsmi_processor_handle, amdsmi_processor_handle,
                                                               uint64_t* least, uint64_t* most);
amdsmi_status_t amdsmi_get_fw_info(amdsmi_processor_handle, amdsmi_fw_info_t* info);
}
