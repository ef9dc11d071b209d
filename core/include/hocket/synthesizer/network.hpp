#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/time.hpp"
#include "hocket/topology/graph.hpp"

namespace hocket::synthesizer {

/// Lists of ids, one after the other: list k is `ids[offset[k]..offset[k+1])`.
struct Lists {
  std::vector<int32_t> offset;
  std::vector<int32_t> ids;

  int32_t size() const { return static_cast<int32_t>(offset.size()) - 1; }
  std::span<const int32_t> operator[](int32_t at) const {
    return {ids.data() + offset[at], static_cast<size_t>(offset[at + 1] - offset[at])};
  }
  /// For every value in 0..num_values-1 the (ascending) lists that contain it.
  Lists inverted(int32_t num_values) const;
};

/// A network as the engines see it for chunks of one size: links between ranks. A link is a route, that is a path of
/// physical links, and may start only when all of them are free.
/// That is the alpha-beta model with exclusive links (of a trunk for several transfers, its lanes): travel = latency +
/// bytes / bandwidth, as in SCCL, TACCL, TE-CCL and TACOS. The simulator's models let messages share links instead;
/// `simulate` tells what a schedule takes there.
struct Network {
  /// `blocking`: a transfer holds its physical links for latency + serialization (TACOS' model), else for the
  /// serialization on the slowest of them.
  Network(const topology::Graph& graph, std::span<const int64_t> route_offset, std::span<const int32_t> route_links,
          int64_t chunk_bytes, bool blocking);

  int32_t num_links() const { return static_cast<int32_t>(src.size()); }
  /// Whether every link is a physical link of its own and all take the same time: what the engine `rounds` needs.
  bool uniform() const;
  /// The ranks that links lead to from `rank` over `allowed` ranks, itself among them.
  std::vector<bool> reached_from(int32_t rank, const std::vector<bool>& allowed) const;

  struct Times {
    Picoseconds hold, travel;
  };
  /// What `hold` and `travel` are for a chunk of `bytes`.
  Times times(int32_t link, int64_t bytes) const {
    return bytes == chunk_bytes ? Times{hold[link], travel[link]} : times_of(link, bytes);
  }

  int32_t num_ranks;
  int64_t chunk_bytes;  ///< of the largest chunk: the times below are its
  bool blocking;
  std::vector<int32_t> src, dst;
  /// A transfer that starts at t holds its path until t + hold; the chunk is at dst at t + travel >= t + hold.
  std::vector<Picoseconds> hold, travel;
  std::vector<Picoseconds> latency;
  std::vector<Bandwidth> bandwidth;  ///< of the slowest physical link
  Lists path;                        ///< physical links of each link
  Lists users;                       ///< links over each physical link
  Lists out;                         ///< links that leave each rank
  Lists in;                          ///< links that enter each rank

 private:
  Times times_of(int32_t link, int64_t bytes) const;
};

/// Transfers in the order of their starts, ties in the order they were chosen: structure of arrays.
struct Transfers {
  std::vector<int32_t> chunk;
  std::vector<int32_t> link;
  std::vector<Picoseconds> start;
  std::vector<Picoseconds> finish;
  Picoseconds time = 0;  ///< when the last one is done

  void reserve(size_t count);
  void add(int32_t chunk_id, int32_t link_id, Picoseconds from, Picoseconds to);
};

/// Says which chunk cannot get from where to where; for a reversed graph the direction is turned in the message.
[[noreturn]] void throw_unreachable(int32_t chunk, int32_t origin, int32_t rank);
/// Says that the chunk cannot leave the ranks that it has `reached`: no link joins these and the others.
[[noreturn]] void throw_cut_off(const std::vector<bool>& reached, int32_t chunk, int32_t origin);

}  // namespace hocket::synthesizer
