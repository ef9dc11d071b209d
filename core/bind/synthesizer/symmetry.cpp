#include <nanobind/stl/optional.h>

#include "bind.hpp"
#include "hocket/columns.hpp"
#include "hocket/synthesizer/symmetry/exchange.hpp"
#include "hocket/synthesizer/symmetry/spread.hpp"

namespace hocket::bind {
namespace {

using synthesizer::Network;
using synthesizer::Side;
using synthesizer::Stop;
using synthesizer::SymmetricSpread;
using synthesizer::Transfers;
using synthesizer::TranslatedTransfers;
using synthesizer::Translations;

void init_translations(Translations* self, const Network& network, In<int32_t> sizes, In<bool> turns) {
  check_size(turns.size(), sizes.size(), "which sides turn");
  std::vector<Side> sides;
  for (size_t at = 0; at < sizes.size(); at++) sides.push_back({sizes.data()[at], turns.data()[at]});
  unlocked([&] { new (self) Translations(network, sides); });
}

std::optional<TranslatedTransfers> next(SymmetricSpread& self, const Stop& stop) {
  return unlocked([&] { return self.next(stop); });
}

TranslatedTransfers exchange(const Translations& translations, int32_t chunks, const Stop& stop) {
  return unlocked([&] { return synthesizer::exchange(translations, chunks, stop); });
}

nb::tuple columns(Transfers all) {
  return nb::make_tuple(give(std::move(all.chunk)), give(std::move(all.link)), give(std::move(all.start)),
                        give(std::move(all.finish)));
}

nb::tuple translate_spread(const Translations& translations, int32_t chunks, const TranslatedTransfers& transfers,
                           int32_t senders) {
  return columns(unlocked([&] { return synthesizer::translate_spread(translations, chunks, transfers, senders); }));
}

nb::tuple translate_exchange(const Translations& translations, int32_t chunks, const TranslatedTransfers& transfers,
                             int32_t senders) {
  return columns(unlocked([&] { return synthesizer::translate_exchange(translations, chunks, transfers, senders); }));
}

}  // namespace

void bind_synthesizer_symmetry(nb::module_& m) {
  nb::class_<Translations>(m, "Translations")
      .def("__init__", &init_translations, "network"_a, "sizes"_a, "turns"_a)
      .def_prop_ro("order", [](const Translations& self) { return self.group.order(); })
      .def_ro("num_orbits", &Translations::num_orbits)
      .def_prop_ro("num_generators", &Translations::num_generators)
      .def_prop_ro("connected", &Translations::connected);
  nb::class_<TranslatedTransfers>(m, "TranslatedTransfers")
      .def_prop_ro("num_transfers", [](const TranslatedTransfers& self) { return self.tree.size(); })
      .def_ro("time_ps", &TranslatedTransfers::time);
  nb::class_<SymmetricSpread>(m, "SymmetricSpread")
      .def(nb::init<const Network&, const Translations&, int32_t, uint64_t>(), "network"_a, "translations"_a,
           "chunks"_a, "seed"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
      .def("next", &next, "stop"_a);
  m.def("symmetric_exchange", &exchange, "translations"_a, "chunks"_a, "stop"_a);
  m.def("translate_spread", &translate_spread, "translations"_a, "chunks"_a, "transfers"_a, "senders"_a);
  m.def("translate_exchange", &translate_exchange, "translations"_a, "chunks"_a, "transfers"_a, "senders"_a);
}

}  // namespace hocket::bind
