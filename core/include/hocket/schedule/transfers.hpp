#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hocket/time.hpp"
#include "hocket/topology/graph.hpp"

namespace hocket::schedule {

/// A view of routes: route k is `route_links[route_offset[k]..route_offset[k+1])`.
struct RouteTable {
  const topology::Graph* graph;
  std::span<const int64_t> route_offset;
  std::span<const int32_t> route_links;

  int64_t num_routes() const { return static_cast<int64_t>(route_offset.size()) - 1; }
  std::span<const int32_t> links(int32_t route) const {
    return route_links.subspan(route_offset[route], route_offset[route + 1] - route_offset[route]);
  }
  /// Node that a route leaves / reaches: a rank, or a switch that computes.
  int32_t route_src(int32_t route) const { return graph->links()[route_links[route_offset[route]]].src; }
  int32_t route_dst(int32_t route) const { return graph->links()[route_links[route_offset[route + 1] - 1]].dst; }
};

/// Throws ScheduleError unless every route is a connected path of links from a rank or switch that computes to another.
void check(const RouteTable& routes);

/// A view of a schedule's columns (meaning: schedule/schedule.py). Transfer ids are positions in the columns.
struct Transfers : RouteTable {
  std::span<const int32_t> chunk;
  std::span<const int32_t> route;
  std::span<const bool> reduce;
  std::span<const Picoseconds> start;
  std::span<const Picoseconds> finish;
  int64_t num_chunks;
  std::span<const bool> own = {};  ///< empty: no transfer carries its source's own contribution

  int64_t size() const { return static_cast<int64_t>(chunk.size()); }
  /// Node that a transfer leaves / reaches.
  int32_t src(int64_t id) const { return route_src(route[id]); }
  int32_t dst(int64_t id) const { return route_dst(route[id]); }
  /// Whether it carries what its source contributes, whatever that has got of the chunk since.
  bool is_own(int64_t id) const { return !own.empty() && own[id]; }
  /// `transfer 7 (chunk 3, rank 0 -> 1, 500..1500)` for messages, with nodes of the topology.
  std::string describe(int64_t id) const;
  /// `rank 3`, or `switch 8`.
  std::string name(int32_t node) const;
};

/// The same of the routes; and throws ScheduleError unless the columns agree in length, ids are in range, transfers are
/// sorted by start, and each starts at 0 or later and finishes after that; Infeasible when one finishes beyond the
/// horizon. Every other function on Transfers relies on it.
void check(const Transfers& transfers);

/// Transfer ids grouped by chunk: those of chunk c are `of(c)`, ascending.
class ChunkIndex {
 public:
  explicit ChunkIndex(const Transfers& transfers);
  std::span<const int32_t> of(int64_t chunk) const {
    return std::span(ids_).subspan(offset_[chunk], offset_[chunk + 1] - offset_[chunk]);
  }

 private:
  std::vector<int64_t> offset_;
  std::vector<int32_t> ids_;
};

/// What routes cost. Switches cut through, ranks that pass a chunk on store it first: a route is as many segments as it
/// has hops between ranks, and a transfer is serialized once in each, on the segment's slowest link.
class RouteCost {
 public:
  explicit RouteCost(const RouteTable& routes);
  /// How long a transfer is on every link of its route, from its start on: the serialization on the slowest link or, if
  /// `blocking`, until it has finished. Zero for an empty chunk unless `blocking`: it waits for no link.
  Picoseconds hold(int32_t route, int64_t bytes, bool blocking) const {
    return blocking ? duration(route, bytes) : serialization_ps(bytes, slowest_[route]);
  }
  /// From start to finish: latency + serialization, at least one picosecond. Throws Infeasible beyond the horizon.
  Picoseconds duration(int32_t route, int64_t bytes) const {
    Picoseconds time = latency_[route];
    for (int64_t at = segment_offset_[route]; at < segment_offset_[route + 1]; at++) {
      time = add_ps(time, serialization_ps(bytes, segment_bandwidth_[at]));
    }
    return within_horizon(std::max<Picoseconds>(1, time));
  }

 private:
  std::vector<Picoseconds> latency_;
  std::vector<Bandwidth> slowest_;
  std::vector<int64_t> segment_offset_{0};
  std::vector<Bandwidth> segment_bandwidth_;
};

}  // namespace hocket::schedule
