/// What an answer costs: `tuner_cost PLUGIN CALLS` prints the CPU nanoseconds of a call of getCollInfo for which the
/// first rule matches and for which none does, with the table of HOCKET_NCCL_TUNER_TABLE on 2 nodes of 16 ranks.
/// `python -m hocket.bench.nccl_tuner` runs it.
#include <dlfcn.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>

#include "../tuner/abi.hpp"

using namespace hocket::nccl;

namespace {

double cpu_ns() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

/// Nanoseconds of a call of `bytes`; what NCCL does for a call besides, a table filled anew, included.
double measure(const Tuner6& tuner, void* context, long calls, size_t bytes) {
  const double start = cpu_ns();
  for (long call = 0; call < calls; ++call) {
    float costs[kAlgorithms][kProtocols];
    for (auto& row : costs) {
      for (float& cost : row) cost = 10.0f;
    }
    int channels = 0;
    tuner.get_collective(context, kAllReduce, bytes, 1, reinterpret_cast<float**>(costs), kAlgorithms, kProtocols, 0,
                         &channels);
  }
  return (cpu_ns() - start) / static_cast<double>(calls);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  void* const library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 1;
  const auto& tuner = *static_cast<const Tuner6*>(dlsym(library, "ncclTunerPlugin_v6"));
  const long calls = std::atol(arguments[2]);
  void* context = nullptr;
  const double start = cpu_ns();
  tuner.init(&context, 1, 16, 2, nullptr, nullptr, nullptr);
  const double init = cpu_ns() - start;
  const double none = measure(tuner, nullptr, calls, 8);
  std::printf("%.0f %.1f %.1f %.1f\n", init / 1e3, none, measure(tuner, context, calls, 8),
              measure(tuner, context, calls, size_t{1} << 40));
  tuner.finalize(context);
}
