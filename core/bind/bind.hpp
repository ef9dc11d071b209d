#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <span>
#include <utility>
#include <vector>

namespace hocket::bind {

namespace nb = nanobind;
using namespace nb::literals;

/// A contiguous one-dimensional numpy array handed in by Python.
template <typename T>
/// Of another type or layout it is refused, never converted: a silent copy of a large column would cost more than what
/// is done with it.
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename T>
/// Valid as long as the array lives: bindings that keep one past the call keep the array as well.
std::span<const T> view(const In<T>& array) {
  return {array.data(), array.size()};
}

template <typename T>
std::vector<T> copy(const In<T>& array) {
  return std::vector<T>(array.data(), array.data() + array.size());
}

/// Hands a vector to numpy without copying it; Python owns it from here on.
template <typename T, typename Allocator>
nb::ndarray<nb::numpy, T, nb::ndim<1>> give(std::vector<T, Allocator> data) {
  using Data = std::vector<T, Allocator>;
  auto* owned = new Data(std::move(data));
  nb::capsule owner(owned, [](void* pointer) noexcept { delete static_cast<Data*>(pointer); });
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner);
}

/// One field of every record as a numpy column.
template <typename Record, typename T>
/// The engine keeps records, as it fills one at a time; Python wants columns.
nb::ndarray<nb::numpy, T, nb::ndim<1>> column(const std::vector<Record>& records, T Record::* field) {
  std::vector<T> values(records.size());
  for (size_t at = 0; at < records.size(); at++) values[at] = records[at].*field;
  return give(std::move(values));
}

/// Runs `work` without the GIL: it must touch no Python object.
template <typename Work>
/// So other threads of Python go on, and Ctrl+C is noticed, by whoever polls `Stop` or `check_signals`.
auto unlocked(Work work) {
  nb::gil_scoped_release release;
  return work();
}

// One file of this folder a subject; each fills its own submodule of `hocket._core`.
void bind_topology(nb::module_& m);
void bind_chakra(nb::module_& m);
void bind_schedule(nb::module_& m);
void bind_bounds(nb::module_& m);       // a part of `schedule`
void bind_interpreter(nb::module_& m);  // a part of `schedule`
void bind_plan(nb::module_& m);         // a part of `schedule`
void bind_folded(nb::module_& m);       // a part of `schedule`
void bind_synthesizer(nb::module_& m);
void bind_synthesizer_symmetry(nb::module_& m);  // a part of `synthesizer`
void bind_synthesizer_routing(nb::module_& m);   // a part of `synthesizer`
void bind_demand(nb::module_& m);                // a part of `synthesizer`
void bind_simulator(nb::module_& m);
void bind_packets(nb::module_& m);  // a part of `simulator`
void bind_traffic(nb::module_& m);  // likewise
void bind_astra(nb::module_& m);
void bind_translator(nb::module_& m);
void bind_device(nb::module_& m);
void bind_executor(nb::module_& m);
void bind_nccl(nb::module_& m);
void bind_nccl_tuner(nb::module_& m);  // a part of `nccl`

}  // namespace hocket::bind
