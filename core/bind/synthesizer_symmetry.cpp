#include "bind.hpp"
#include "hocket/synthesizer/symmetric_spread.hpp"

namespace hocket::bind {
namespace {

using synthesizer::Network;
using synthesizer::Side;
using synthesizer::Stop;
using synthesizer::TranslatedTransfers;
using synthesizer::Translations;

void init_translations(Translations* self, const Network& network, In<int32_t> sizes, In<bool> turns) {
  std::vector<Side> sides;
  for (size_t at = 0; at < sizes.size(); at++) sides.push_back({sizes.data()[at], turns.data()[at]});
  unlocked([&] { new (self) Translations(network, sides); });
}

TranslatedTransfers spread(const Network& network, const Translations& translations, int32_t chunks, uint64_t seed,
                           int attempts, int64_t target_ps, const Stop& stop) {
  return unlocked(
      [&] { return synthesizer::spread_best(network, translations, chunks, seed, attempts, target_ps, stop); });
}

nb::tuple translate_spread(const Translations& translations, int32_t chunks, const TranslatedTransfers& transfers) {
  auto all = unlocked([&] { return synthesizer::translate_spread(translations, chunks, transfers); });
  return nb::make_tuple(give(std::move(all.chunk)), give(std::move(all.link)), give(std::move(all.start)),
                        give(std::move(all.finish)));
}

}  // namespace

void bind_synthesizer_symmetry(nb::module_& m) {
  nb::class_<Translations>(m, "Translations")
      .def("__init__", &init_translations, "network"_a, "sizes"_a, "turns"_a)
      .def_prop_ro("order", [](const Translations& self) { return self.group.order(); })
      .def_prop_ro("num_generators", &Translations::num_generators)
      .def_prop_ro("connected", &Translations::connected);
  nb::class_<TranslatedTransfers>(m, "TranslatedTransfers")
      .def_prop_ro("num_transfers", [](const TranslatedTransfers& self) { return self.tree.size(); })
      .def_ro("time_ps", &TranslatedTransfers::time);
  m.def("symmetric_spread", &spread, "network"_a, "translations"_a, "chunks"_a, "seed"_a, "attempts"_a, "target_ps"_a,
        "stop"_a);
  m.def("translate_spread", &translate_spread, "translations"_a, "chunks"_a, "transfers"_a);
}

}  // namespace hocket::bind
