#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/synthesizer/random.hpp"
#include "hocket/synthesizer/routing/packets.hpp"
#include "hocket/synthesizer/stop.hpp"
#include "hocket/topology/shortest_tree.hpp"

namespace hocket::synthesizer {

/// Routes packets so that the busiest link has little to do: packets are taken off and routed anew, batch by batch,
/// over links whose price grows exponentially with their load. (Rip-up and re-route, as in the layout of circuits; the
/// prices are those of the multiplicative-weights method for concurrent flows: Garg & Koenemann, SIAM J. Comput. 37,
/// 2007.) Deterministic for a seed: prices and loads are integers.
///
/// The aim is the bound of concurrent flow: no all_to_all is quicker than its busiest link's load, and fractional
/// routes that minimise it are a linear program (TE-CCL solves such ones with a commercial solver). Here routes are
/// whole paths.
class PacketRouter {
 public:
  /// `relays` has a 1 for each rank that may pass chunks on (empty: all may).
  PacketRouter(const topology::Graph& graph, const Packets& packets, std::span<const uint8_t> relays, bool blocking,
               uint64_t seed);

  /// Routes every packet once more. A link costs twice as much with every 1/`sharpness` that it is loaded with of what
  /// the busiest one is, or of `target_ps` if that is more. Throws Infeasible when a packet has no way, and Stopped.
  void pass(Picoseconds target_ps, int sharpness, const Stop& stop);

  /// How long the busiest link is held.
  Picoseconds busiest() const;
  Paths paths() const;

 private:
  struct Batch {
    int64_t first, last;  // positions in order_, packets of one source
  };

  void make_batches();
  void shuffle(int64_t first, int64_t last);
  void route(const Batch& batch);
  void load(int64_t packet, int sign);
  void refresh_weights();
  int64_t weight(int32_t link) const;

  const topology::Graph& graph_;
  Packets packets_;
  bool blocking_;
  Random random_;
  topology::ShortestTree tree_;
  std::vector<int64_t> order_;
  std::vector<Batch> batches_;
  std::vector<int32_t> targets_;
  std::vector<std::vector<int32_t>> path_;       // of a packet
  std::vector<Picoseconds> load_;                // of a link
  std::vector<int64_t> hold_, travel_, weight_;  // of a link; times of the largest packet in parts of the longest
  std::vector<int32_t> changed_;                 // links whose load is not yet in their weight
  std::vector<uint8_t> is_changed_;
  Picoseconds busiest_ = 1;  // the load at which links cost most
  int sharpness_ = 1;
};

}  // namespace hocket::synthesizer
