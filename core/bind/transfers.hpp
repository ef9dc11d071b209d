#pragma once

#include <utility>

#include "bind.hpp"
#include "hocket/schedule/transfers.hpp"

namespace hocket::bind {

/// Transfers that keep the numpy columns and the graph they look at alive: what Python holds as
/// `hocket._core.schedule.Transfers` and hands to every function that takes `const schedule::Transfers&`.
struct OwnedTransfers : schedule::Transfers {
  nb::object graph_owner;
  In<int64_t> route_offset_owner;
  In<int32_t> route_links_owner, chunk_owner, route_owner;
  In<bool> reduce_owner;
  In<int64_t> start_owner, finish_owner;
  In<bool> own_owner;

  OwnedTransfers(nb::object graph, In<int64_t> route_offset, In<int32_t> route_links, In<int32_t> chunk,
                 In<int32_t> route, In<bool> reduce, In<int64_t> start, In<int64_t> finish, int64_t num_chunks,
                 In<bool> own)
      : schedule::Transfers{{nb::cast<const topology::Graph*>(graph), view(route_offset), view(route_links)},
                            view(chunk),
                            view(route),
                            view(reduce),
                            view(start),
                            view(finish),
                            num_chunks,
                            view(own)},
        graph_owner(std::move(graph)),
        route_offset_owner(std::move(route_offset)),
        route_links_owner(std::move(route_links)),
        chunk_owner(std::move(chunk)),
        route_owner(std::move(route)),
        reduce_owner(std::move(reduce)),
        start_owner(std::move(start)),
        finish_owner(std::move(finish)),
        own_owner(std::move(own)) {
    schedule::check(*this);
  }
};

}  // namespace hocket::bind
