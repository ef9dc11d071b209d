#pragma once

#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bind.hpp"
#include "hocket/huge_pages.hpp"
#include "hocket/topology/paths.hpp"

namespace hocket::bind {

/// `hocket.topology.Paths` as Python hands them in: offset, link_offset, links, share.
using Columns = std::tuple<In<int64_t>, In<int64_t>, In<int32_t>, In<int64_t>>;

inline topology::Paths paths_of(const Columns& columns) {
  const auto& [offset, link_offset, links, share] = columns;
  // Of many pairs they are large, and read here and there.
  return {copy(offset), huge_copy(view(link_offset)), huge_copy(view(links)), copy(share)};
}

}  // namespace hocket::bind
