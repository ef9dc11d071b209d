#include <optional>

#include "hocket/synthesizer/matching.hpp"
#include "synthesizer.hpp"

namespace hocket::bind {
namespace {

using synthesizer::Matcher;
using synthesizer::Network;
using synthesizer::Stop;
using synthesizer::Transfers;

void init_matcher(Matcher* self, const Network& network, In<int32_t> origin, uint64_t seed) {
  new (self) Matcher(network, view(origin), seed);
}

nb::object next(Matcher& matcher, Stop& stop) {
  std::optional<Transfers> found = unlocked([&] { return matcher.next(stop); });
  return found ? nb::object(columns(std::move(*found))) : nb::none();
}

}  // namespace

void bind_matching(nb::module_& m) {
  nb::class_<Matcher>(m, "Matcher")
      .def("__init__", &init_matcher, "network"_a, "origin"_a, "seed"_a, nb::keep_alive<1, 2>())
      .def("next", &next, "stop"_a);
}

}  // namespace hocket::bind
