#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/synthesizer/network.hpp"

namespace hocket::synthesizer {

/// The links of a network under a symmetry: those that are images of each other are one lane, and their physical links
/// one wire. Whoever does with every image of a chunk what he does with one of them needs to look at lanes only: each
/// link of a lane carries as much as the lane is given, of one image or another, at the same times.
///
/// A schedule over lanes is a covering of the one over links: folding loses nothing, as it stands for moves that all
/// images make at once.
class Lanes {
 public:
  /// `images`: the link that each becomes under each element of the symmetry, element after element. The first leaves
  /// all links in their places, the others none. Throws ScheduleError when they do not, or when a link and its image
  /// differ in their times or in the number of their physical links.
  Lanes(const Network& network, std::span<const int32_t> images);
  /// No symmetry: every link a lane.
  static Lanes alone(const Network& network);

  int32_t order() const { return order_; }
  int32_t num_lanes() const { return wires_.size(); }
  int32_t num_wires() const { return num_wires_; }
  int32_t of(int32_t link) const { return lane_[link]; }
  int32_t image(int32_t element, int32_t link) const {
    return images_[static_cast<size_t>(element) * lane_.size() + link];
  }
  std::span<const int32_t> wires(int32_t lane) const { return wires_[lane]; }
  Picoseconds hold(int32_t lane) const { return hold_[lane]; }
  Picoseconds travel(int32_t lane) const { return travel_[lane]; }
  Picoseconds longest_travel() const;
  /// Whether lanes share wires, or have several.
  bool shared() const { return wires_.ids.size() != hold_.size() || static_cast<size_t>(num_wires_) != hold_.size(); }

 private:
  std::vector<int32_t> images_;  ///< [element][link]
  int32_t order_;
  int32_t num_wires_ = 0;
  std::vector<int32_t> lane_;               ///< [link]
  Lists wires_;                             ///< [lane]
  std::vector<Picoseconds> hold_, travel_;  ///< [lane]
};

}  // namespace hocket::synthesizer
