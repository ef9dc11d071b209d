#include "hocket/synthesizer/matching/demand.hpp"

#include "bind.hpp"

namespace hocket::bind {
namespace {

using schedule::RankSets;
using synthesizer::Demand;

void init(Demand* self, const RankSets& sets, In<int32_t> origin, In<int32_t> wanted, In<int32_t> through,
          In<int64_t> bytes, In<int32_t> priority) {
  new (self) Demand(sets, copy(origin), copy(wanted), copy(through), copy(bytes), copy(priority));
}

}  // namespace

void bind_demand(nb::module_& m) {
  nb::class_<Demand>(m, "Demand")
      .def("__init__", &init, "sets"_a, "origin"_a, "wanted"_a, "through"_a, "bytes"_a, "priority"_a)
      .def_prop_ro("num_chunks", &Demand::num_chunks);
}

}  // namespace hocket::bind
