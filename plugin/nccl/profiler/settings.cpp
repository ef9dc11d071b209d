#include "settings.hpp"

#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "abi.hpp"
#include "record_pool.hpp"

namespace hocket::nccl {
namespace {

constexpr const char* kEventNames[kEventTypes] = {
    "group",           "collective", "p2p",        "proxy_operation", "proxy_step", "proxy_control",
    "kernel_channel",  "net",        "group_api",  "collective_api",  "p2p_api",    "kernel_launch",
    "copy_collective", "copy_sync",  "copy_batch", "kernel_phase"};

const char* variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

uint32_t number(const char* name, const char* otherwise, uint32_t least, uint32_t most) {
  const std::string_view text = variable(name, otherwise);
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), value);
  if (error == std::errc() && end == text.end() && value >= least && value <= most) return value;
  throw std::invalid_argument(std::string(name) + "=" + std::string(text) + ": expected a number from " +
                              std::to_string(least) + " to " + std::to_string(most));
}

int launcher_rank() {
  for (const char* name : {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    const std::string_view text = variable(name, "");
    int rank = 0;
    const auto [end, error] = std::from_chars(text.begin(), text.end(), rank);
    if (error == std::errc() && end == text.end() && rank >= 0) return rank;
  }
  return -1;
}

// Names instead of NCCL's mask of bits: what a version calls a bit may change, and a wrong bit would go unnoticed.
uint64_t parse_events(std::string_view text) {
  uint64_t events = 0;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string_view name = text.substr(at, end - at);
    int bit = 0;
    while (bit < kEventTypes && name != kEventNames[bit]) ++bit;
    if (bit == kEventTypes) {
      std::string known;
      for (const char* other : kEventNames) known += std::string(known.empty() ? "" : ", ") + other;
      throw std::invalid_argument("HOCKET_NCCL_EVENTS: unknown event '" + std::string(name) + "'; known: " + known);
    }
    events |= uint64_t{1} << bit;
    at = end + 1;
  }
  return events;
}

}  // namespace

Settings Settings::from_environment() {
  return {.folder = variable("HOCKET_NCCL_PROFILE", ""),
          .events = parse_events(variable("HOCKET_NCCL_EVENTS", "collective,p2p")),
          .pool = number("HOCKET_NCCL_RECORDS", "8192", 16, RecordPool::kMost),
          .prometheus_s = number("HOCKET_NCCL_PROMETHEUS", "0", 0, 86400),
          .table = number("HOCKET_NCCL_TABLE", "0", 0, 1) == 1,
          .rank = launcher_rank()};
}

const char* event_name(int bit) { return kEventNames[bit]; }

}  // namespace hocket::nccl
