#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hocket/schedule/symmetry.hpp"
#include "hocket/schedule/transfers.hpp"

namespace hocket::schedule {

/// What the transfers of a phase (schedule/folded.py) must do, with chunks numbered as in schedule/collective.py.
enum class Spread : uint8_t {
  kFromEach,   ///< every chunk from its rank, chunk / chunks_per_rank, to all
  kFromRoot,   ///< every chunk from the root to all
  kEachToEach  ///< chunk ((source * num_ranks + destination) * chunks_per_rank + k) from its source to its destination
};

struct FoldedConditions {
  Spread spread;
  int32_t chunks_per_rank;
  int32_t root;
  int64_t num_chunks;
  int64_t chunk_bytes;  ///< of the largest chunk: what every transfer is timed with
  bool blocking;
  /// The transfers are run backwards in time and sum chunks up: routes lead from a receiver of copies to its source.
  bool mirrored;
};

/// Checks the transfers of a phase as they come, in the order of their starts, without spelling out their images: the
/// same things as `verify`, and that a chunk gets to a rank only once.
///
/// Why checking representatives is enough: all images of a transfer happen at the same time, so what one rank sends
/// and receives says what its images do, with the chunks taken along. A link is exclusive when the transfers over all
/// its images, taken together, do not overlap.
///
/// Why a mirrored phase is right when what it mirrors is: if every chunk spreads from its root to all ranks, each rank
/// receiving it once and passing it on only later, then the transfers of a chunk are a tree, and backwards in time each
/// rank sends once, after all the ranks below it have sent to it: what it sends is the sum over those below it, each
/// once, and the root gets the sum over all. The other way round, in a schedule of that kind each rank's
/// contribution has one way to the root, which backwards is the way of its copy. A transfer that ends t before the end
/// of the phase starts t after its begin when mirrored; its link is held from its true start on, so in mirrored time up
/// to its end.
class FoldedChecker {
 public:
  /// `orbit[l]` names link l and all its images: any one of them. All arguments must outlive the checker. Throws
  /// ScheduleError when a route is no path of links between ranks.
  static std::unique_ptr<FoldedChecker> make(const RouteTable& routes, std::span<const int32_t> orbit,
                                             const Symmetry& symmetry, const FoldedConditions& conditions);
  virtual ~FoldedChecker() = default;

  /// Takes transfers that start at the same time, not before those taken earlier: chunk `chunks[i]` over `routes[i]`.
  /// Throws ScheduleError naming the first that is wrong.
  void take(Picoseconds start, std::span<const int32_t> routes, std::span<const int32_t> chunks);
  /// The same for transfers sorted by start.
  void take(std::span<const Picoseconds> starts, std::span<const int32_t> routes, std::span<const int32_t> chunks);
  /// Throws ScheduleError when a chunk has not got everywhere where it is wanted.
  virtual void finish() = 0;

  /// When the last transfer taken so far is done.
  Picoseconds time() const { return time_; }
  /// Links that transfers were taken over, each as often as that happened.
  int64_t num_hops() const { return num_hops_; }
  /// How long each link is held, by the name of its orbit.
  const std::vector<Picoseconds>& busy() const { return busy_; }

 protected:
  /// The way of a route's transfers in mirrored time if the phase is mirrored. `home` takes an end to the rank that
  /// represents it, which is number `orbit` of such.
  struct End {
    int32_t rank;
    int32_t orbit;
    int64_t home;
  };
  struct Way {
    End from, to;
    Picoseconds duration;
    Picoseconds delay;  ///< from a transfer's start on until it holds its links
    Picoseconds hold;
  };

  FoldedChecker(const RouteTable& routes, std::span<const int32_t> orbit, const Symmetry& symmetry,
                const FoldedConditions& conditions);

  /// Transfers that start now; routes, chunks, order and links have been checked.
  virtual void move(Picoseconds start, std::span<const int32_t> routes, std::span<const int32_t> chunks) = 0;

  int32_t num_ranks() const { return routes_.graph->num_ranks(); }
  /// `transfer 7 (chunk 3, rank 0 -> 1, 500..1500)` of the i-th that start now, in true directions.
  std::string describe(size_t i, int32_t route, int32_t chunk) const;

  const RouteTable routes_;
  const Symmetry& symmetry_;
  const FoldedConditions conditions_;
  std::vector<Way> ways_;                 // of each route
  std::vector<int32_t> representatives_;  // of each orbit of ranks

 private:
  void hold_links(size_t i, int32_t route, int32_t chunk);

  std::span<const int32_t> orbit_;
  std::vector<Picoseconds> free_, busy_;
  Picoseconds now_ = 0, time_ = 0;
  int64_t taken_ = 0, num_hops_ = 0;
};

}  // namespace hocket::schedule
