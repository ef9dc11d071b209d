#include "hocket/synthesizer/rounds/rounds.hpp"

#include <nanobind/stl/optional.h>

#include "hocket/synthesizer/random.hpp"
#include "hocket/synthesizer/rounds/columns.hpp"
#include "hocket/synthesizer/rounds/search.hpp"
#include "hocket/synthesizer/rounds/written.hpp"
#include "synthesizer.hpp"

namespace hocket::bind {
namespace {

using synthesizer::Network;
using synthesizer::Orbits;
using synthesizer::RoundColumns;
using synthesizer::RoundSearch;
using synthesizer::RoundSink;
using synthesizer::RoundTimes;
using synthesizer::Stop;
using synthesizer::WrittenRounds;

void init_orbits(Orbits* self, int32_t num_ranks, In<int32_t> generators) {
  new (self) Orbits(num_ranks, view(generators));
}

void init_written_rounds(WrittenRounds* self, schedule::RoundWriter& writer, In<int32_t> route_of) {
  new (self) WrittenRounds(writer, copy(route_of));
}

void init_search(RoundSearch* self, const Network& network, const Orbits& orbits, In<int32_t> origin,
                 int64_t rounds_per_hop, bool rarest, uint64_t seed, uint64_t attempt, int32_t threads,
                 int64_t below_ps, RoundSink& sink, Stop& stop) {
  synthesizer::RoundOptions options;
  options.rounds_per_hop = rounds_per_hop;
  options.policy = rarest ? synthesizer::RoundPolicy::kRarest : synthesizer::RoundPolicy::kRandom;
  options.seed = synthesizer::hash(seed) + attempt;
  options.threads = threads;
  options.below_ps = below_ps;
  unlocked([&] { new (self) RoundSearch(network, orbits, view(origin), options, sink, stop); });
}

void replay(RoundSearch& self, In<int64_t> rounds, In<int32_t> links, In<int32_t> chunks) {
  unlocked([&] { self.replay(view(rounds), view(links), view(chunks)); });
}

}  // namespace

void bind_rounds(nb::module_& m) {
  nb::class_<RoundTimes>(m, "RoundTimes")
      .def_ro("length_ps", &RoundTimes::length_ps)
      .def_ro("travel_ps", &RoundTimes::travel_ps);
  nb::class_<RoundSink>(m, "RoundSink");
  nb::class_<RoundColumns, RoundSink>(m, "RoundColumns")
      .def(nb::init<const RoundTimes&>(), "times"_a)
      .def("release", [](RoundColumns& rounds) { return columns(rounds.release()); });
  nb::class_<WrittenRounds, RoundSink>(m, "WrittenRounds")
      .def("__init__", &init_written_rounds, "writer"_a, "route_of"_a, nb::keep_alive<1, 2>());
  nb::class_<Orbits>(m, "Orbits")
      .def("__init__", &init_orbits, "num_ranks"_a, "generators"_a)
      .def_prop_ro("order", &Orbits::order);
  m.def("round_times", &synthesizer::round_times, "network"_a, "rounds_per_hop"_a);
  m.def("round_search_bytes", &synthesizer::round_search_bytes, "num_ranks"_a, "num_links"_a, "num_chunks"_a, "order"_a,
        "rounds_per_hop"_a);
  nb::class_<RoundSearch>(m, "RoundSearch")
      .def("__init__", &init_search, "network"_a, "orbits"_a, "origin"_a, "rounds_per_hop"_a, "rarest"_a, "seed"_a,
           "attempt"_a, "threads"_a, "below_ps"_a, "sink"_a, "stop"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
           nb::keep_alive<1, 11>(), nb::keep_alive<1, 12>())
      .def("replay", &replay, "rounds"_a, "links"_a, "chunks"_a)
      .def("resume", &RoundSearch::resume, "round"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("run", [](RoundSearch& self) { return unlocked([&] { return self.run(); }); });
  m.attr("ROUND_RENEWAL") = RoundSearch::kRenewal;
}

}  // namespace hocket::bind
