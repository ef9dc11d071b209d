/// What a record costs: `cost PLUGIN RECORDS` prints the CPU nanoseconds of a started and stopped collective, by the
/// plugin and by an empty one, and of one with a kernel channel. `python -m hocket.bench.nccl_profiler` runs it.
#include <dlfcn.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>

#include "../profiler/abi.hpp"

using namespace hocket::nccl;
using Table = Profiler<Descriptor7>;

namespace {

int nothing;
constexpr Table kEmpty = {
    "empty",
    [](void**, uint64_t, int*, const char*, int, int, int, Logger) { return kSuccess; },
    [](void*, void** event, Descriptor7*) { return *event = &nothing, kSuccess; },
    [](void*) { return kSuccess; },
    [](void*, int, StateArguments*) { return kSuccess; },
    [](void*) { return kSuccess; },
};

double cpu_ns() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

/// Nanoseconds of a call, with `kernels` kernel channels.
double measure(const Table& table, long calls, int kernels) {
  void* context = nullptr;
  int mask = 0;
  if (table.init(&context, 1, &mask, "cost", 1, 8, 0, nullptr) != kSuccess) std::exit(1);
  const double start = cpu_ns();
  for (long sequence = 0; sequence < calls; ++sequence) {
    Descriptor7 descriptor{};
    descriptor.type = kCollective;
    descriptor.collective.sequence = static_cast<uint64_t>(sequence);
    descriptor.collective.function = "AllReduce";
    descriptor.collective.count = 1 << 20;
    descriptor.collective.datatype = "ncclBfloat16";
    descriptor.collective.algorithm = "NVLS_TREE";
    descriptor.collective.protocol = "SIMPLE";
    void* call;
    table.start_event(context, &call, &descriptor);
    table.stop_event(call);
    for (int channel = 0; channel < kernels; ++channel) {
      Descriptor7 part{};
      part.type = kKernelChannel;
      part.parent = call;
      part.kernel_channel = {static_cast<uint8_t>(channel), 1000};
      void* kernel;
      table.start_event(context, &kernel, &part);
      StateArguments arguments{.gpu_timer = 2000};
      table.record_event_state(kernel, kKernelChannelStop, &arguments);
      table.stop_event(kernel);
    }
  }
  const double spent = cpu_ns() - start;
  table.finalize(context);
  return spent / static_cast<double>(calls);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  void* const library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 1;
  const auto& plugin = *static_cast<const Table*>(dlsym(library, "ncclProfiler_v7"));
  const long calls = std::atol(arguments[2]);
  for (const Table* table : {&kEmpty, &plugin}) {
    std::printf("%s %.1f %.1f\n", table->name, measure(*table, calls, 0), measure(*table, calls / 8, 8) / 9);
  }
}
