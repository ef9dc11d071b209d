/// What the descriptors of all versions say, as records hold it (the table of record.hpp).
#pragma once
#include <cstring>

#include "abi.hpp"
#include "record.hpp"

namespace hocket::nccl {

/// The beginning of a name, in a field of zeros.
template <size_t kBytes>
void copy_name(char (&to)[kBytes], const char* name) {
  if (name != nullptr) std::memcpy(to, name, strnlen(name, kBytes - 1));
}

/// What calls share, in every version.
/// Fields that a version does not have are left at zero; `requires` asks the type, so no version is listed twice.
template <class Payload>
void describe_call(Record& record, const Payload& payload) {
  copy_name(record.call.function, payload.function);
  copy_name(record.call.datatype, payload.datatype);
  record.call.count = payload.count;
  if constexpr (requires { payload.sequence; }) record.sequence = payload.sequence;
  if constexpr (requires { payload.root; }) record.peer = payload.root;
  if constexpr (requires { payload.captured; }) record.warps = payload.captured;
  if constexpr (requires { payload.user_tag; }) record.user_tag = payload.user_tag;
}

inline void describe_proxy_operation(Record& record, const ProxyOperation& operation) {
  record.sequence = static_cast<uint64_t>(operation.pid);
  record.call.count = static_cast<uint64_t>(operation.steps);
  record.call.channels = operation.channel;
  record.peer = operation.peer;
  record.warps = operation.is_send != 0;
  record.bytes = static_cast<uint64_t>(operation.chunk_bytes);
}

template <class Collective>
void describe_collective(Record& record, const Collective& collective) {
  describe_call(record, collective);
  copy_name(record.call.algorithm, collective.algorithm);
  copy_name(record.call.protocol, collective.protocol);
  record.call.channels = collective.channels;
  record.warps = collective.warps;
  if constexpr (requires { collective.kernel_variant; }) {
    copy_name(record.variant, collective.kernel_variant);
    record.symmetric = collective.symmetric;
  }
}

/// Events that version 6 added, and 7.
template <class Descriptor>
void describe_copy(Record& record, const Descriptor& descriptor) {
  if (descriptor.type == kCopyCollective) {
    describe_call(record, descriptor.copy_collective);
    copy_name(record.call.algorithm, descriptor.copy_collective.sync_strategy);
    record.call.channels = descriptor.copy_collective.batches;
    record.bytes = descriptor.copy_collective.batch_size;
  } else if (descriptor.type == kCopySync) {
    record.call.count = static_cast<uint64_t>(descriptor.copy_sync.ranks);
  } else if (descriptor.type == kCopyBatch) {
    record.call.count = static_cast<uint64_t>(descriptor.copy_batch.operations);
    record.bytes = descriptor.copy_batch.bytes;
  }
}

/// Events that version 5 added: the caller's side.
template <class Descriptor>
void describe_api(Record& record, const Descriptor& descriptor) {
  if (descriptor.type == kGroupApi) {
    record.call.count = static_cast<uint64_t>(descriptor.group_api.depth);
    record.warps = descriptor.group_api.captured;
  } else if (descriptor.type == kCollectiveApi) {
    describe_call(record, descriptor.collective_api);
  } else if (descriptor.type == kPointToPointApi) {
    describe_call(record, descriptor.point_to_point_api);
  }
}

/// Fills in a record of zeros.
template <class Descriptor>
void describe(Record& record, const Descriptor& descriptor) {
  switch (descriptor.type) {
    case kCollective:
      return describe_collective(record, descriptor.collective);
    case kPointToPoint:
      describe_call(record, descriptor.point_to_point);
      record.peer = descriptor.point_to_point.peer;
      record.call.channels = descriptor.point_to_point.channels;
      return;
    case kProxyOperation:
      return describe_proxy_operation(record, descriptor.proxy_operation);
    case kProxyStep:
      record.sequence = static_cast<uint64_t>(descriptor.proxy_step);
      return;
    case kKernelChannel:
      record.call.channels = descriptor.kernel_channel.channel;
      record.gpu_start_ns = descriptor.kernel_channel.gpu_timer;
      return;
    case kNetPlugin:
      record.sequence = static_cast<uint64_t>(descriptor.net_plugin.id);
      return;
  }
  if constexpr (requires { descriptor.group_api; }) describe_api(record, descriptor);
  if constexpr (requires { descriptor.copy_collective; }) describe_copy(record, descriptor);
  if constexpr (requires { descriptor.kernel_phase; }) {
    if (descriptor.type != kKernelPhase) return;
    record.sequence = descriptor.kernel_phase.phase;
    copy_name(record.call.function, descriptor.kernel_phase.name);
    record.call.channels = descriptor.kernel_phase.channel;
    record.gpu_start_ns = descriptor.kernel_phase.gpu_timer;
  }
}

}  // namespace hocket::nccl
