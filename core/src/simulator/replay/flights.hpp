#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "../link_loads.hpp"
#include "../network/flight.hpp"
#include "hocket/simulator/job.hpp"
#include "hocket/simulator/plan.hpp"
#include "hocket/topology/paths.hpp"

namespace hocket::simulator {

/// Messages under way: each over its path, the least loaded of its paths, or in a part over each of them.
class Flights {
 public:
  Flights(const Job& job, const std::vector<const Plan*>& plans, const topology::Graph& graph, bool adaptive)
      : adaptive_(adaptive), unit_of_shares_(unit_of(job.messages.paths, topology::kWholeShare)), loads_(graph) {
    for (const Plan* plan : plans) unit_of_shares_ = unit_of(plan->paths(), unit_of_shares_);
  }

  Flight& operator[](uint32_t id) { return flights_[id]; }
  const Flight& operator[](uint32_t id) const { return flights_[id]; }

  /// Sends a message that leaves now: over its path, the least loaded of its paths, or divided among them.
  template <class Engine, class Network>
  void send(Engine& engine, Network& network, const Flight& whole, const topology::Paths& paths, int64_t pair,
            Picoseconds now) {
    const bool divided = !adaptive_ && whole.bytes > 0 && paths.end(pair) - paths.first(pair) > 1;
    if (divided) return divide(engine, network, whole, paths, pair, now);
    const std::span<const int32_t> links = paths.path(adaptive_ ? loads_.least_loaded(paths, pair) : paths.first(pair));
    const uint32_t id = make(whole, links, kUndivided);
    flights_[id].weight = topology::kWholeShare / unit_of_shares_;
    if (adaptive_) loads_.add(taken_[id] = links, whole.bytes);
    network.inject(engine, id, now);
  }

  /// What was under way is at the end of its links: whether its message, or the last part of it, is there. Where it
  /// forks its parts go on. `flight` is a copy, for what goes on may make more flights, and move them.
  template <class Engine, class Network>
  bool land(Engine& engine, Network& network, uint32_t id, const Flight& flight, Picoseconds now) {
    const int32_t division = division_of_[id];
    free_flights_.push_back(id);
    if constexpr (requires { &Network::template go_on<Engine>; }) {
      if (flight.forks) {
        for_each_part(network, division, flight, [&](uint32_t part) { network.go_on(engine, part, now); });
        return false;
      }
    }
    if (adaptive_) loads_.remove(taken_[id], flight.bytes);
    if (division == kUndivided) return true;
    if (--divisions_[division].left > 0) return false;
    free_divisions_.push_back(division);
    return true;
  }

 private:
  /// A message on several paths: the pair's of `paths`, of whose links the first `trunk` take it whole. `left`: parts
  /// that are not there.
  struct Division {
    const topology::Paths* paths;
    int64_t pair;
    int64_t trunk;
    int32_t left;
  };
  static constexpr int32_t kUndivided = -1;

  /// The largest number of which all shares of all paths are multiples: what weighs 1, so that weights are small.
  static int64_t unit_of(const topology::Paths& paths, int64_t unit) {
    for (const int64_t share : paths.share) unit = std::gcd(unit, share);
    return unit;
  }

  /// The flight keeps pointers into the plan's or the job's links, which outlive it; ids are reused, so that vectors by
  /// id stay as long as the most flights ever under way.
  uint32_t make(const Flight& like, std::span<const int32_t> links, int32_t division) {
    uint32_t id = static_cast<uint32_t>(flights_.size());
    if (free_flights_.empty()) {
      flights_.emplace_back();
      division_of_.emplace_back();
      if (adaptive_) taken_.emplace_back();
    } else {
      id = free_flights_.back();
      free_flights_.pop_back();
    }
    flights_[id] = like;
    flights_[id].hop = links.data();
    flights_[id].end = links.data() + links.size();
    division_of_[id] = division;
    return id;
  }

  /// Sends a message in parts: where the network lets messages fork it goes whole as far as its paths are one.
  template <class Engine, class Network>
  void divide(Engine& engine, Network& network, Flight whole, const topology::Paths& paths, int64_t pair,
              Picoseconds now) {
    int32_t number = static_cast<int32_t>(divisions_.size());
    if (free_divisions_.empty()) {
      divisions_.emplace_back();
    } else {
      number = free_divisions_.back();
      free_divisions_.pop_back();
    }
    divisions_[number] = {&paths, pair, 0, 0};
    if constexpr (requires { &Network::template go_on<Engine>; }) {
      if (const int64_t trunk = paths.trunk(pair); trunk > 0) {
        whole.forks = true;
        divisions_[number].trunk = trunk;
        const uint32_t id = make(whole, paths.path(paths.first(pair)).first(trunk), number);
        flights_[id].weight = topology::kWholeShare / unit_of_shares_;
        return network.inject(engine, id, now);
      }
    }
    for_each_part(network, number, whole, [&](uint32_t id) { network.inject(engine, id, now); });
  }

  /// Makes a flight of each part of a message, behind the trunk of its paths, and calls `use(id)`.
  template <class Network, class Use>
  void for_each_part(Network& network, int32_t number, Flight part, Use use) {
    const auto [paths, pair, trunk, none] = divisions_[number];
    const int64_t bytes = part.bytes;
    int64_t share_before = 0;
    part.forks = false;
    part.part = true;
    for (int64_t path = paths->first(pair); path < paths->end(pair); path++) {
      if constexpr (requires { network.part(share_before, share_before, bytes, uint64_t{}); }) {
        part.bytes = network.part(share_before, paths->share[path], bytes, message_number(part));
        share_before += paths->share[path];
      } else {
        part.bytes = paths->part(pair, path, bytes);
      }
      part.weight = paths->share[path] / unit_of_shares_;
      if (part.bytes == 0) continue;
      divisions_[number].left++;
      use(make(part, paths->path(path).subspan(trunk), number));
    }
  }

  static uint64_t message_number(const Flight& flight) {
    return static_cast<uint64_t>(flight.collective + 1) << 32 | static_cast<uint32_t>(flight.message);
  }

  const bool adaptive_;
  int64_t unit_of_shares_;
  LinkLoads loads_;
  std::vector<Flight> flights_;
  std::vector<uint32_t> free_flights_;
  std::vector<int32_t> division_of_;             // of each flight, or kUndivided
  std::vector<std::span<const int32_t>> taken_;  // of each flight its links, where loads are counted
  std::vector<Division> divisions_;
  std::vector<int32_t> free_divisions_;
};

}  // namespace hocket::simulator
