#include "bind.hpp"
#include "hocket/schedule/chains.hpp"
#include "hocket/schedule/dependencies.hpp"
#include "hocket/schedule/retime.hpp"
#include "hocket/schedule/spanning_trees.hpp"
#include "hocket/schedule/use_over_time.hpp"
#include "hocket/schedule/verify.hpp"
#include "transfers.hpp"

namespace hocket::bind {
namespace {

using schedule::RankSets;
using schedule::Transfers;

void init_sets(RankSets* self, int32_t num_ranks, In<int64_t> offset, In<int32_t> ranks) {
  new (self) RankSets(num_ranks, view(offset), view(ranks));
}

nb::tuple find_dependencies(const OwnedTransfers& transfers) {
  auto found = unlocked([&] { return schedule::find_dependencies(transfers); });
  return nb::make_tuple(give(std::move(found.offset)), give(std::move(found.ids)));
}

nb::tuple retime(const OwnedTransfers& transfers, In<int64_t> chunk_bytes, bool blocking, bool reducing) {
  auto times = unlocked([&] { return schedule::retime(transfers, view(chunk_bytes), blocking, reducing); });
  return nb::make_tuple(give(std::move(times.start)), give(std::move(times.finish)));
}

auto verify(const OwnedTransfers& transfers, In<int32_t> ranks, In<int32_t> relays, const RankSets& sets,
            In<int32_t> origin, In<int32_t> destination, In<int64_t> chunk_bytes, In<bool> sent, bool timed,
            bool blocking) {
  const schedule::Conditions conditions{view(ranks),       view(relays),      sets,      view(origin),
                                        view(destination), view(chunk_bytes), view(sent)};
  return give(unlocked([&] { return schedule::verify(transfers, conditions, timed, blocking); }));
}

auto use_over_time(const OwnedTransfers& transfers, In<int64_t> chunk_bytes, bool blocking, int64_t bins) {
  return give(unlocked([&] { return schedule::use_over_time(transfers, view(chunk_bytes), blocking, bins); }));
}

void bind_transfers(nb::module_& m) {
  nb::class_<OwnedTransfers>(m, "Transfers")
      .def(nb::init<nb::object, In<int64_t>, In<int32_t>, In<int32_t>, In<int32_t>, In<bool>, In<int64_t>, In<int64_t>,
                    int64_t, In<bool>>(),
           "graph"_a, "route_offset"_a, "route_links"_a, "chunk"_a, "route"_a, "reduce"_a, "start_ps"_a, "finish_ps"_a,
           "num_chunks"_a, "own"_a);
  m.def("dependencies", &find_dependencies, "transfers"_a);
  nb::class_<schedule::Chains>(m, "Chains")
      .def(
          "__init__",
          [](schedule::Chains* self, const OwnedTransfers& transfers) { new (self) schedule::Chains(transfers); },
          "transfers"_a)
      .def(
          "longest",
          [](const schedule::Chains& chains, In<double> step) {
            return unlocked([&] { return chains.longest(view(step)); });
          },
          "step"_a);
  m.def("retime", &retime, "transfers"_a, "chunk_bytes"_a, "blocking"_a, "reducing"_a);
  m.def("use_over_time", &use_over_time, "transfers"_a, "chunk_bytes"_a, "blocking"_a, "bins"_a);
  nb::class_<RankSets>(m, "RankSets")
      .def("__init__", &init_sets, "num_ranks"_a, "offset"_a, "ranks"_a)
      .def(
          "check", [](const RankSets& sets, In<int32_t> of, const std::string& what) { sets.check(view(of), what); },
          "sets"_a, "what"_a);
  m.def("verify", &verify, "transfers"_a, "ranks"_a, "relays"_a, "sets"_a, "origin"_a, "destination"_a, "chunk_bytes"_a,
        "sent"_a, "timed"_a, "blocking"_a);
}

nb::tuple grow_trees(int64_t num_ranks, In<int64_t> src, In<int64_t> dst) {
  auto edges = unlocked([&] { return schedule::grow_trees(num_ranks, view(src), view(dst)); });
  return nb::make_tuple(give(std::move(edges.step)), give(std::move(edges.link)), give(std::move(edges.tree)));
}

}  // namespace

void bind_schedule(nb::module_& m) {
  bind_transfers(m);
  bind_bounds(m);
  bind_interpreter(m);
  bind_plan(m);
  bind_folded(m);
  m.def("grow_trees", &grow_trees, "num_ranks"_a, "src"_a, "dst"_a);
}

}  // namespace hocket::bind
