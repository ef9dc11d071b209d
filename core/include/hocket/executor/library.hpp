#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::executor {

/// A collective, by the name that `hocket.schedule.Kind` gives it, and what it does with a rank's buffers.
struct Kind {
  std::string_view name;
  bool has_shares = false;        ///< the larger buffer holds a share for each rank
  bool has_small_input = false;   ///< of one share
  bool has_small_output = false;  ///< of one share
  bool reduces = false;
  bool is_rooted = false;

  /// Whether a rank's input means something: broadcast and scatter have that of their root alone.
  bool has_input(bool is_root) const { return !is_rooted || reduces || has_small_input || is_root; }
  /// Whether its output does: reduce and gather have that of their root alone.
  bool has_output(bool is_root) const { return !is_rooted || !(reduces || has_small_input) || is_root; }
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

/// The one of that name. Throws FormatError for a name that is none, which does not compile where it is a constant.
constexpr const Kind& find_kind(std::string_view name);

/// What all ranks of a call have alike. Sizes are bytes: of one rank's share of the larger buffer (the whole of it
/// where it is not shared), and of an element that is reduced (1 where nothing is).
struct Request {
  const Kind* kind;
  int32_t ranks;
  int32_t root;  ///< -1 where there is none
  int64_t share_bytes;
  int64_t element_bytes;
  bool in_place;  ///< whether the caller's buffers are one, which decides between programs for either way
};

/// A program as far as it decides which calls it serves. `chunks` are those that the whole buffer is cut into;
/// `max_bytes` 0: no end, -1: it is for no call.
struct Algorithm {
  const Kind* kind;
  int32_t ranks;
  int32_t root;
  bool in_place;
  bool out_of_place;
  int64_t chunks;
  int64_t min_bytes;
  int64_t max_bytes;

  /// Bytes of a chunk of a call of `share_bytes`, in whole elements: the last chunk of a share is padded.
  int64_t chunk_bytes(int64_t share_bytes, int64_t element_bytes) const;
};

/// The program that serves a call, by its position, and the way with buffers in which it does.
struct Choice {
  int32_t number;
  bool in_place;
};

/// The one rule that says which program serves a call: the first, in the order of the library, for the collective, the
/// ranks, the root and the size (as called, not as padded); those that are right for the call's own way with buffers
/// come before those of the other way, which run on a copy. It depends on nothing in which the ranks of a call may
/// differ. Compare MSCCL's `mscclSelectAlgo` and MSCCL++'s `AlgorithmCollection`, whose first match in file order it
/// keeps.
class Library {
 public:
  explicit Library(std::vector<Algorithm> algorithms) : algorithms_(std::move(algorithms)) {}

  /// Reads what `hocket.runtime.engine.text` writes. Throws FormatError, naming `source`.
  static Library read(std::istream& text, const std::string& source);

  std::optional<Choice> find(const Request& request) const;

  /// Why none serves the call, in words of which there are few: calls are counted by them.
  std::string why_none(const Request& request) const;

  const Algorithm& operator[](int32_t number) const { return algorithms_.at(static_cast<size_t>(number)); }
  int32_t size() const { return static_cast<int32_t>(algorithms_.size()); }

 private:
  std::vector<Algorithm> algorithms_;
};

[[noreturn]] void refuse_kind(std::string_view name);

constexpr const Kind& find_kind(std::string_view name) {
  for (const Kind& kind : kKinds) {
    if (kind.name == name) return kind;
  }
  refuse_kind(name);
}

}  // namespace hocket::executor
