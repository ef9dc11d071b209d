#include <algorithm>

#include "../synthesizer.hpp"
#include "hocket/columns.hpp"
#include "hocket/synthesizer/balancing/alternatives.hpp"
#include "hocket/synthesizer/balancing/balance.hpp"
#include "hocket/synthesizer/balancing/dispatch.hpp"

namespace hocket::bind {
namespace {

using synthesizer::Alternatives;
using topology::Graph;

constexpr int64_t kMostBytes = int64_t{1} << 56;

void init_alternatives(Alternatives* self, const Graph& graph, In<uint8_t> relays, In<int64_t> weight, int32_t most) {
  unlocked([&] { new (self) Alternatives(synthesizer::find_alternatives(graph, view(relays), view(weight), most)); });
}

nb::tuple plan(const Alternatives& alternatives, In<int32_t> pair, In<int64_t> bytes, int32_t passes, bool blocking) {
  auto found = unlocked([&] {
    const synthesizer::PairChunks chunks{view(pair), view(bytes)};
    check_size(chunks.bytes.size(), chunks.pair.size(), "the bytes of chunks");
    check_ids(chunks.pair, static_cast<int64_t>(alternatives.first_path.size()) - 1, "the pairs of chunks");
    check_within(chunks.bytes, 0, kMostBytes, "the bytes of chunks");
    int64_t total = 0;
    for (const int64_t bytes : chunks.bytes) check_within(total += bytes, 0, kMostBytes, "the bytes of all chunks");
    return dispatch(alternatives, chunks, balance(alternatives, chunks, passes), blocking);
  });
  return nb::make_tuple(give(std::move(found.chunk)), give(std::move(found.link)), give(std::move(found.start)),
                        give(std::move(found.finish)));
}

}  // namespace

void bind_balancing(nb::module_& m) {
  nb::class_<Alternatives>(m, "Alternatives")
      .def("__init__", &init_alternatives, "graph"_a, "relays"_a, "weight"_a, "most"_a)
      .def_prop_ro("hops",
                   [](const Alternatives& self) {
                     const auto& hops = self.hop_links;
                     return nb::make_tuple(give(std::vector<int64_t>(hops.offset.begin(), hops.offset.end())),
                                           give(std::vector<int32_t>(hops.ids)));
                   })
      .def("plan", &plan, "pair"_a, "bytes"_a, "passes"_a, "blocking"_a);
}

}  // namespace hocket::bind
