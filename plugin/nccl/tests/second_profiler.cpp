/// A profiler of versions 4 and 5 that says what NCCL would see it do, and what it was given that is not its own. Asks
/// for $SECOND_MASK; its init fails with $SECOND_FAILS. It frees its events with their communicator, as NVIDIA's
/// example does.
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "../profiler/abi.hpp"

namespace hocket::nccl {
namespace {

struct Event {
  uint64_t type;
  const Event* parent;
  void* context;
  bool stopped = false;
};

std::mutex lock;
std::set<Event*> events;
std::string told;
int* asked = nullptr;

std::string name(const void* handle) {
  const auto* event = static_cast<const Event*>(handle);
  if (event == nullptr) return "-";
  return events.count(const_cast<Event*>(event)) == 0 ? "stray" : std::to_string(event->type);
}

Result begin(void** context, int* mask, uint64_t communicator, int ranks, int rank) {
  const std::lock_guard held(lock);
  if (std::getenv("SECOND_FAILS") != nullptr) return 1;
  asked = mask;
  if (const char* wanted = std::getenv("SECOND_MASK")) *mask = std::atoi(wanted);
  *context = new char;
  told += "init " + std::to_string(communicator) + " " + std::to_string(rank) + "/" + std::to_string(ranks) + "\n";
  return kSuccess;
}
Result init4(void** context, int* mask, const char*, uint64_t communicator, int, int ranks, int rank, Logger) {
  return begin(context, mask, communicator, ranks, rank);
}
Result init5(void** context, uint64_t communicator, int* mask, const char*, int, int ranks, int rank, Logger) {
  return begin(context, mask, communicator, ranks, rank);
}

template <class Descriptor>
Result start(void* context, void** handle, Descriptor* descriptor) {
  const std::lock_guard held(lock);
  auto* parent = static_cast<Event*>(descriptor->parent);
  std::string group = "";
  if constexpr (requires { descriptor->collective.parent_group; }) {
    if (descriptor->type == kCollective) group = " group " + name(descriptor->collective.parent_group);
  }
  told += "start " + std::to_string(descriptor->type) + " of " + name(parent) + group + "\n";
  auto* event = new Event{descriptor->type, parent, context};
  events.insert(event);
  *handle = event;
  return kSuccess;
}
Result stop(void* handle) {
  const std::lock_guard held(lock);
  told += "stop " + name(handle) + "\n";
  static_cast<Event*>(handle)->stopped = true;
  return kSuccess;
}
Result state(void* handle, int state, StateArguments*) {
  const std::lock_guard held(lock);
  told += "state " + name(handle) + " " + std::to_string(state) + "\n";
  return kSuccess;
}
Result finalize(void* context) {
  const std::lock_guard held(lock);
  told += "finalize\n";
  for (auto at = events.begin(); at != events.end();) {
    if ((*at)->context != context) {
      ++at;
      continue;
    }
    delete *at;
    at = events.erase(at);
  }
  delete static_cast<char*>(context);
  return kSuccess;
}

}  // namespace
}  // namespace hocket::nccl

extern "C" const hocket::nccl::Profiler4 ncclProfiler_v4 = {
    "second",           hocket::nccl::init4, hocket::nccl::start<hocket::nccl::Descriptor4>,
    hocket::nccl::stop, hocket::nccl::state, hocket::nccl::finalize};
extern "C" const hocket::nccl::Profiler<hocket::nccl::Descriptor5> ncclProfiler_v5 = {
    "second",           hocket::nccl::init5, hocket::nccl::start<hocket::nccl::Descriptor5>,
    hocket::nccl::stop, hocket::nccl::state, hocket::nccl::finalize};

/// What it was told since the last call.
extern "C" const char* take_told() {
  static std::string taken;
  const std::lock_guard held(hocket::nccl::lock);
  taken.swap(hocket::nccl::told);
  hocket::nccl::told.clear();
  return taken.c_str();
}

extern "C" void ask_for(int mask) { *hocket::nccl::asked = mask; }
