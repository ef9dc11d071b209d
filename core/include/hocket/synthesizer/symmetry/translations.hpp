#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/synthesizer/network.hpp"

namespace hocket::synthesizer {

/// A dimension of a box of ranks: rank = c0 + c1*n0 + c2*n0*n1 + ..., dimension 0 varies fastest.
struct Side {
  int32_t size;
  bool turns;  ///< whether translations shift this coordinate around
};

/// The shifts of a box along the sides that turn: an abelian group that moves every rank. Its elements are numbered as
/// the ranks of a box of these sides alone.
class ShiftGroup {
 public:
  explicit ShiftGroup(std::vector<int32_t> sizes);
  int32_t order() const { return order_; }
  const std::vector<int32_t>& sizes() const { return sizes_; }
  int32_t sum(int32_t a, int32_t b) const;
  int32_t difference(int32_t a, int32_t b) const;

 private:
  std::vector<int32_t> sizes_;
  int32_t order_;
};

/// A network whose links are images of a few under a group of translations.
///
/// Ranks that translations take to each other are an orbit. Point orbit * order + element is the rank that `element`
/// makes of the first rank of its orbit. A generator is a class of links that are alike, one for each rank of an
/// orbit: all may start at once, because no physical link serves two of them. What all translations do at the same time
/// is one transfer here, so generators are the machines of a scheduling problem, and its solution for the chunks of the
/// first ranks is, translated, one for all chunks.
struct Translations {
  /// Links whose images do not exist, are not alike or share physical links are left out. The sides' sizes multiply to
  /// the number of ranks.
  Translations(const Network& network, std::span<const Side> sides);

  int32_t num_points() const { return static_cast<int32_t>(rank.size()); }
  int32_t num_generators() const { return static_cast<int32_t>(orbit.size()); }
  int32_t orbit_of(int32_t point) const { return point / group.order(); }
  /// The link of a generator that leaves a point of its orbit, and the point where it leads.
  int32_t link_from(int32_t generator, int32_t point) const { return link[position(generator, point)]; }
  int32_t target_from(int32_t generator, int32_t point) const { return target[position(generator, point)]; }
  /// Whether the generators lead from every rank to every other.
  bool connected() const;

  ShiftGroup group;
  int32_t num_orbits;
  std::vector<int32_t> rank;              ///< of each point
  std::vector<int32_t> orbit;             ///< that each generator leaves
  std::vector<int32_t> link, target;      ///< generator * order + element: the link of the network, the point
  std::vector<Picoseconds> hold, travel;  ///< of each generator
  Lists resources;                        ///< of each generator: generators that share one exclude each other
  int32_t num_resources;

 private:
  size_t position(int32_t generator, int32_t point) const {
    return static_cast<size_t>(int64_t{generator - orbit[generator]} * group.order() + point);
  }
};

/// Transfers of the chunks of the first ranks of all orbits, each standing for its images; in the order of their
/// starts: structure of arrays. Tree t is chunk t % chunks of the first rank of orbit t / chunks.
struct TranslatedTransfers {
  std::vector<int32_t> tree;
  std::vector<int32_t> generator;
  std::vector<int32_t> point;  ///< that sends
  std::vector<Picoseconds> start;
  Picoseconds time = 0;  ///< when the last one is done

  void reserve(size_t count);
  void add(int32_t tree_id, int32_t generator_id, int32_t from, Picoseconds at, Picoseconds until);
};

}  // namespace hocket::synthesizer
