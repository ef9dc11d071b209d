/// The proved programs that the launcher left for this job: which one serves a call, and what each rank does in it.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::mpi {

/// A collective, by the name that the launcher calls it, and what it does with a rank's buffers.
struct Kind {
  std::string_view name;
  bool has_shares = false;        // the larger buffer holds a share for each rank
  bool has_small_input = false;   // of one share
  bool has_small_output = false;  // of one share
  bool reduces = false;
  bool is_rooted = false;
};

inline constexpr std::array<Kind, 8> kKinds = {{
    {.name = "all_reduce", .reduces = true},
    {.name = "broadcast", .is_rooted = true},
    {.name = "reduce", .reduces = true, .is_rooted = true},
    {.name = "all_gather", .has_shares = true, .has_small_input = true},
    {.name = "reduce_scatter", .has_shares = true, .has_small_output = true, .reduces = true},
    {.name = "all_to_all", .has_shares = true},
    {.name = "gather", .has_shares = true, .has_small_input = true, .is_rooted = true},
    {.name = "scatter", .has_shares = true, .has_small_output = true, .is_rooted = true},
}};

/// The one of that name; a name that is none does not compile where it is a constant.
constexpr const Kind& FindKind(std::string_view name) {
  for (const Kind& kind : kKinds) {
    if (kind.name == name) return kind;
  }
  throw "no such collective";
}

/// Chunks of one of the rank's buffers: 0 input, 1 output, 2 scratch, 3 staging.
struct Piece {
  int buffer;
  int64_t offset;
};

struct Message {
  int peer;
  Piece place;
  int64_t count;
};

/// `target` becomes `source`, or, where there is an `other`, the two reduced; `target` may be either.
struct LocalStep {
  Piece source;
  std::optional<Piece> other;
  Piece target;
  int64_t count;
};

/// Messages that fly at once, then work on the rank's own memory (hocket.schedule.exchange).
struct Exchange {
  std::vector<Message> sends;
  std::vector<Message> receives;
  std::vector<LocalStep> local_steps;
};

/// What one rank does; `chunks` of its four buffers.
struct RankPlan {
  std::array<int64_t, 4> chunks;
  std::vector<Exchange> exchanges;
};

/// A program; sizes are bytes, `chunks` those that the whole buffer is cut into.
struct Algorithm {
  int number;
  const Kind* kind;
  int ranks;
  int root;
  bool in_place;
  int64_t chunks;
  int64_t min_bytes;
  int64_t max_bytes;  // -1: no end

  /// Bytes of a chunk of `share_bytes`, a share of each rank, in whole elements: the last chunk is padded.
  int64_t ChunkBytes(int64_t share_bytes, int64_t element_bytes) const;
};

/// All programs of a job, in the order in which they are looked at.
class Algorithms {
 public:
  /// Reads the launcher's folder. Throws std::runtime_error when it is not one.
  explicit Algorithms(std::filesystem::path folder);

  /// The first for a call; nullptr when there is none. Depends on nothing in which the ranks of a call may differ.
  const Algorithm* Find(const Kind& kind, int ranks, int root, int64_t share_bytes, int64_t element_bytes) const;

  /// Why there is none, in words of which there are few: calls are counted by them.
  std::string WhyNone(const Kind& kind, int ranks, int root) const;

  /// Reads what `rank` does. Throws as the constructor.
  RankPlan ReadPlan(const Algorithm& algorithm, int rank) const;

 private:
  std::filesystem::path folder_;
  std::vector<Algorithm> algorithms_;
};

}  // namespace hocket::mpi
