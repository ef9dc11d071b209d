#include "device.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>

namespace hocket::stand_in {
namespace {

constexpr size_t kGranularity = size_t{2} << 20;
constexpr size_t kWorthGivingBack = size_t{64} << 10;
std::mutex memory_lock;

std::map<const char*, Allocation>& allocations() {
  static auto* all = new std::map<const char*, Allocation>;  // outlives NCCL's own threads at exit
  return *all;
}

const char* variable(const char* name, const char* otherwise) {
  const char* value = getenv(name);
  return value ? value : otherwise;
}

/** Pages of a memory file are taken out of it, for all who map it; those that no file backs, where there is none to
 * take them out of, are dropped. */
bool give_back(char* start, size_t bytes) {
  if (madvise(start, bytes, MADV_REMOVE) == 0) return true;
  return errno == EINVAL && madvise(start, bytes, MADV_DONTNEED) == 0;
}

}  // namespace

const std::vector<std::string>& bus_ids() {
  static const auto* ids = [] {
    auto* split = new std::vector<std::string>;
    std::stringstream text(variable("HOCKET_GPUS", "0000:1b:00.0"));
    for (std::string id; std::getline(text, id, ',');) split->push_back(id);
    return split;
  }();
  return *ids;
}

int compute_capability() {
  static const int value = atoi(variable("HOCKET_SM", "90"));
  return value;
}

bool has_multicast() {
  static const bool value = atoi(variable("HOCKET_MULTICAST", "1")) != 0;
  return value;
}

const std::string& fabric() {
  static const auto* name = new std::string(variable("HOCKET_FABRIC", ""));
  return *name;
}

int& current_device() {
  static thread_local int device = 0;
  return device;
}

void remember(void* start, size_t bytes, int device) {
  std::lock_guard<std::mutex> held(memory_lock);
  allocations()[static_cast<char*>(start)] = {static_cast<char*>(start), bytes, device};
}

void forget(void* start) {
  std::lock_guard<std::mutex> held(memory_lock);
  allocations().erase(static_cast<char*>(start));
}

void* allocate(size_t bytes) {
  bytes = (bytes + kGranularity - 1) / kGranularity * kGranularity + (bytes ? 0 : kGranularity);
  void* start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  remember(start, bytes, current_device());
  return start;
}

bool release(void* start) {
  Allocation found{};
  {
    std::lock_guard<std::mutex> held(memory_lock);
    auto at = allocations().find(static_cast<char*>(start));
    if (at == allocations().end()) return false;
    found = at->second;
    allocations().erase(at);
  }
  return munmap(found.start, found.bytes) == 0;
}

void fill(void* start, int value, size_t bytes) {
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  char *at = static_cast<char*>(start), *end = at + bytes;
  auto* first = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(at) + page - 1) / page * page);
  auto* last = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(end) / page * page);
  if (value != 0 || bytes < kWorthGivingBack || !give_back(first, last - first)) {
    memset(start, value, bytes);
    return;
  }
  memset(at, 0, first - at);
  memset(last, 0, end - last);
}

Allocation allocation_of(const void* address) {
  std::lock_guard<std::mutex> held(memory_lock);
  auto after = allocations().upper_bound(static_cast<const char*>(address));
  if (after == allocations().begin()) return {};
  const Allocation& found = std::prev(after)->second;
  return static_cast<const char*>(address) < found.start + found.bytes ? found : Allocation{};
}

}  // namespace hocket::stand_in

/** NCCL's own memset (it is linked so): its description of a machine is 60 MB a rank of zeros, of which few are used.
 */
extern "C" __attribute__((visibility("default"))) void* __wrap_memset(void* start, int value, size_t bytes) {
  hocket::stand_in::fill(start, value, bytes);
  return start;
}
