#include "kernels.hpp"

// Comparisons of floats become vector code only if they may raise no trap; results are the same.
#pragma GCC optimize("no-trapping-math")

#include <array>

#include "hocket/error.hpp"

namespace hocket::device {
namespace {

template <typename Element, typename Reduction>
void walk(const Launch& launch, int32_t block, const Lanes& lanes, BlockMemory& shared) {
  Walk<Arithmetic<Element, Reduction>>(launch, block, lanes, shared).run();
}

template <typename Element, typename Reduction>
void walk_switches(const SwitchLaunch& launch, int32_t block, const Lanes& lanes, SwitchMemory& shared) {
  SwitchWalk<Arithmetic<Element, Reduction>>(launch, block, lanes, shared).run();
}

/// One walk for each type and reduction, so that each loop is one that the compiler makes vector code of.
struct Walks {
  Kernel* kernel;
  SwitchKernel* switch_kernel;
};
template <typename Element, typename Reduction>
constexpr Walks kWalks{&walk<Element, Reduction>, &walk_switches<Element, Reduction>};

template <typename Element>
constexpr std::array kReductions{kWalks<Element, Sum>, kWalks<Element, Prod>, kWalks<Element, Max>,
                                 kWalks<Element, Min>};

constexpr std::array kKernels{
    kReductions<Plain<int8_t>>,   kReductions<Plain<uint8_t>>,  kReductions<Plain<int16_t>>,
    kReductions<Plain<int32_t>>,  kReductions<Plain<int64_t>>,  kReductions<Float16>,
    kReductions<Bfloat16>,        kReductions<Plain<float>>,    kReductions<Plain<double>>,
    kReductions<Plain<uint32_t>>, kReductions<Plain<uint64_t>>, kReductions<Float8E4m3>,
    kReductions<Float8E5m2>,
};

const Walks& walks_of(int32_t element, int32_t reduction) {
  if (element < 0 || element >= static_cast<int32_t>(kKernels.size()) || reduction < 0 || reduction >= 4) {
    throw Error("no element type " + std::to_string(element) + " with reduction " + std::to_string(reduction));
  }
  return kKernels[element][reduction];
}

}  // namespace

Kernel* kernel_of(int32_t element, int32_t reduction) { return walks_of(element, reduction).kernel; }

SwitchKernel* switch_kernel_of(int32_t element, int32_t reduction) {
  return walks_of(element, reduction).switch_kernel;
}

}  // namespace hocket::device
