#pragma once

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "hocket/synthesizer/network.hpp"

namespace hocket::synthesizer {

using topology::Graph;
using topology::Link;

/// Every link is a route of its own.
inline Network direct(const Graph& graph, int64_t chunk_bytes, bool blocking) {
  std::vector<int64_t> offset(graph.links().size() + 1);
  std::iota(offset.begin(), offset.end(), 0);
  std::vector<int32_t> links(graph.links().size());
  std::iota(links.begin(), links.end(), 0);
  return Network(graph, offset, links, chunk_bytes, blocking);
}

/// Links of 1 byte/ns with 100 ns latency between neighbours on a circle, both ways.
inline Graph ring(int32_t size) {
  std::vector<Link> links;
  for (int32_t rank = 0; rank < size; rank++) {
    links.push_back({rank, (rank + 1) % size, 100'000, 1'000'000'000});
    links.push_back({(rank + 1) % size, rank, 100'000, 1'000'000'000});
  }
  return Graph(size, size, links);
}

inline std::vector<int32_t> all_gather(int32_t ranks, int32_t chunks) {
  std::vector<int32_t> origin(ranks * chunks);
  for (size_t chunk = 0; chunk < origin.size(); chunk++) origin[chunk] = static_cast<int32_t>(chunk) / chunks;
  return origin;
}

/// Replays transfers: every source holds what it sends, no link is held twice, every rank gets every chunk once.
inline void expect_valid(const Network& network, const std::vector<int32_t>& origin, const Transfers& transfers) {
  std::map<std::pair<int32_t, int32_t>, Picoseconds> at;
  for (size_t chunk = 0; chunk < origin.size(); chunk++) at[{origin[chunk], static_cast<int32_t>(chunk)}] = 0;
  std::map<int32_t, Picoseconds> free;
  for (size_t id = 0; id < transfers.chunk.size(); id++) {
    const int32_t link = transfers.link[id], chunk = transfers.chunk[id];
    const auto held = at.find({network.src[link], chunk});
    ASSERT_TRUE(held != at.end() && held->second <= transfers.start[id]) << "transfer " << id;
    for (int32_t physical : network.path[link]) {
      ASSERT_LE(free[physical], transfers.start[id]) << "transfer " << id;
      free[physical] = transfers.start[id] + network.hold[link];
    }
    ASSERT_EQ(transfers.finish[id], transfers.start[id] + network.travel[link]);
    ASSERT_TRUE(at.insert({{network.dst[link], chunk}, transfers.finish[id]}).second) << "transfer " << id;
  }
  EXPECT_EQ(at.size(), origin.size() * network.num_ranks);
}

}  // namespace hocket::synthesizer
