#include <memory>

#include "bind.hpp"
#include "hocket/schedule/round_frames.hpp"
#include "hocket/schedule/verify_folded.hpp"

namespace hocket::bind {
namespace {

using schedule::FoldedChecker;
using schedule::FoldedConditions;
using schedule::Motion;
using schedule::RouteTable;
using schedule::Symmetry;

/// A checker with what it looks at.
/// Members in this order: what the checker looks at is made before it and outlives it.
class OwnedChecker {
 public:
  OwnedChecker(nb::object graph, In<int64_t> route_offset, In<int32_t> route_links, In<int32_t> orbit,
               std::vector<int32_t> sizes, std::vector<Motion> motions, schedule::Spread spread,
               int32_t chunks_per_rank, int32_t root, int64_t num_chunks, int64_t chunk_bytes, bool blocking,
               bool mirrored)
      : graph_(std::move(graph)),
        route_offset_(std::move(route_offset)),
        route_links_(std::move(route_links)),
        orbit_(std::move(orbit)),
        symmetry_(sizes, motions),
        checker_(FoldedChecker::make(
            RouteTable{nb::cast<const topology::Graph*>(graph_), view(route_offset_), view(route_links_)}, view(orbit_),
            symmetry_, {spread, chunks_per_rank, root, num_chunks, chunk_bytes, blocking, mirrored})) {}

  void take(In<int64_t> start, In<int32_t> route, In<int32_t> chunk) {
    unlocked([&] { checker_->take(view(start), view(route), view(chunk)); });
  }
  auto finish() {
    unlocked([&] { checker_->finish(); });
    return give(std::vector<Picoseconds>(checker_->busy()));
  }
  Picoseconds time() const { return checker_->time(); }
  int64_t num_hops() const { return checker_->num_hops(); }

 private:
  nb::object graph_;
  In<int64_t> route_offset_;
  In<int32_t> route_links_, orbit_;
  Symmetry symmetry_;
  std::unique_ptr<FoldedChecker> checker_;
};

/// A reader with the frames that it reads.
class OwnedRoundReader {
 public:
  OwnedRoundReader(In<uint8_t> frames, int64_t num_routes, int64_t num_chunks, int64_t length_ps)
      : frames_(std::move(frames)), reader_(view(frames_), {num_routes, num_chunks}, length_ps) {}

  nb::tuple read(int64_t wanted) {
    auto transfers = unlocked([&] { return reader_.read(wanted); });
    return nb::make_tuple(give(std::move(transfers.start)), give(std::move(transfers.route)),
                          give(std::move(transfers.chunk)));
  }
  size_t position() const { return reader_.position(); }
  int64_t num_rounds() const { return reader_.num_rounds(); }

 private:
  In<uint8_t> frames_;
  schedule::RoundReader reader_;
};

void bind_rounds(nb::module_& m) {
  using schedule::RoundWriter;
  nb::class_<RoundWriter>(m, "RoundWriter")
      .def(
          "__init__",
          [](RoundWriter* self, int descriptor, int64_t num_routes, int64_t num_chunks, int64_t next_round) {
            new (self) RoundWriter(descriptor, {num_routes, num_chunks}, next_round);
          },
          "descriptor"_a, "num_routes"_a, "num_chunks"_a, "next_round"_a = 0)
      .def(
          "take",
          [](RoundWriter& self, int64_t round, In<int32_t> routes, In<int32_t> chunks) {
            self.take(round, view(routes), view(chunks));
          },
          "round"_a, "routes"_a, "chunks"_a)
      .def("flush", &RoundWriter::flush)
      .def_prop_ro("num_rounds", &RoundWriter::num_rounds)
      .def_prop_ro("num_transfers", &RoundWriter::num_transfers);
  nb::class_<OwnedRoundReader>(m, "RoundReader")
      .def(nb::init<In<uint8_t>, int64_t, int64_t, int64_t>(), "frames"_a, "num_routes"_a, "num_chunks"_a,
           "length_ps"_a)
      .def("read", &OwnedRoundReader::read, "wanted"_a)
      .def_prop_ro("position", &OwnedRoundReader::position)
      .def_prop_ro("num_rounds", &OwnedRoundReader::num_rounds);
}

auto route_durations(const topology::Graph& graph, In<int64_t> route_offset, In<int32_t> route_links,
                     int64_t chunk_bytes) {
  const RouteTable routes{&graph, view(route_offset), view(route_links)};
  check(routes);
  const schedule::RouteCost cost(routes);
  std::vector<Picoseconds> durations;
  for (int32_t route = 0; route < routes.num_routes(); route++) durations.push_back(cost.duration(route, chunk_bytes));
  return give(std::move(durations));
}

}  // namespace

void bind_folded(nb::module_& m) {
  nb::enum_<Motion>(m, "Motion")
      .value("SHIFT", Motion::kShift)
      .value("SWING", Motion::kSwing)
      .value("FLIP", Motion::kFlip)
      .value("STAY", Motion::kStay);
  nb::enum_<schedule::Spread>(m, "Spread")
      .value("FROM_EACH", schedule::Spread::kFromEach)
      .value("FROM_ROOT", schedule::Spread::kFromRoot)
      .value("EACH_TO_EACH", schedule::Spread::kEachToEach);
  nb::class_<OwnedChecker>(m, "FoldedChecker")
      .def(nb::init<nb::object, In<int64_t>, In<int32_t>, In<int32_t>, std::vector<int32_t>, std::vector<Motion>,
                    schedule::Spread, int32_t, int32_t, int64_t, int64_t, bool, bool>(),
           "graph"_a, "route_offset"_a, "route_links"_a, "orbit"_a, "sizes"_a, "motions"_a, "spread"_a,
           "chunks_per_rank"_a, "root"_a, "num_chunks"_a, "chunk_bytes"_a, "blocking"_a, "mirrored"_a)
      .def("take", &OwnedChecker::take, "start_ps"_a, "route"_a, "chunk"_a)
      .def("finish", &OwnedChecker::finish)
      .def_prop_ro("time_ps", &OwnedChecker::time)
      .def_prop_ro("num_hops", &OwnedChecker::num_hops);
  bind_rounds(m);
  m.def("route_durations", &route_durations, "graph"_a, "route_offset"_a, "route_links"_a, "chunk_bytes"_a);
}

}  // namespace hocket::bind
