#include "hocket/synthesizer/matching/matching.hpp"

#include <optional>

#include "synthesizer.hpp"

namespace hocket::bind {
namespace {

using synthesizer::Demand;
using synthesizer::Matcher;
using synthesizer::Network;
using synthesizer::Stop;
using synthesizer::Transfers;

nb::object next(Matcher& matcher, Stop& stop) {
  std::optional<Transfers> found = unlocked([&] { return matcher.next(stop); });
  return found ? nb::object(columns(std::move(*found))) : nb::none();
}

}  // namespace

void bind_matching(nb::module_& m) {
  nb::class_<Matcher>(m, "Matcher")
      .def(nb::init<const Network&, const Demand&, uint64_t>(), "network"_a, "demand"_a, "seed"_a,
           nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::call_guard<nb::gil_scoped_release>())
      .def("next", &next, "stop"_a);
}

}  // namespace hocket::bind
