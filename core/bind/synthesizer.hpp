#pragma once

#include <utility>

#include "bind.hpp"
#include "hocket/synthesizer/network.hpp"

namespace hocket::bind {

/// Chunks, routes, starts and finishes of what an engine found.
inline nb::tuple columns(synthesizer::Transfers transfers) {
  return nb::make_tuple(give(std::move(transfers.chunk)), give(std::move(transfers.link)),
                        give(std::move(transfers.start)), give(std::move(transfers.finish)));
}

void bind_matching(nb::module_& m);
void bind_trees(nb::module_& m);
void bind_packing(nb::module_& m);
void bind_rounds(nb::module_& m);
void bind_balancing(nb::module_& m);

}  // namespace hocket::bind
