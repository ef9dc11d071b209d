#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/time.hpp"

namespace hocket::schedule {

/// The compact form of transfers that happen in rounds: two to four bytes a transfer, written and read as a stream.
///
/// A frame per round in which something moves, in ascending order; all numbers are little-endian:
///
///   4 bytes  CRC-32 of the rest of the frame
///   4 bytes  number of transfers, at least 1
///   8 bytes  number of the round
///   then     a bit for each route, bit k % 8 of byte k / 8: whether it carries a chunk; padded to a whole byte
///   then     of each such route, ascending, the id of its chunk: 2 bytes if there are at most 2^16 chunks, else 4
struct RoundShape {
  int64_t num_routes;
  int64_t num_chunks;

  static constexpr size_t kHead = 16;
  size_t bitmap_bytes() const { return static_cast<size_t>(num_routes + 7) / 8; }
  size_t chunk_bytes() const { return num_chunks <= 1 << 16 ? 2 : 4; }
};

/// Writes frames to a file as rounds come.
class RoundWriter {
 public:
  /// `descriptor` is that of a file open for writing, where it stands; it must stay open. `next_round`: the least that
  /// may come, when it already holds some.
  RoundWriter(int descriptor, const RoundShape& shape, int64_t next_round = 0);

  /// In round `round`, later than those before, route `routes[i]` (ascending) carries chunk `chunks[i]`. Throws Error
  /// when the file cannot be written, ScheduleError when the arguments are not of the shape.
  void take(int64_t round, std::span<const int32_t> routes, std::span<const int32_t> chunks);
  /// Hands all frames to the file.
  void flush();

  /// The round after the last one taken.
  int64_t num_rounds() const { return num_rounds_; }
  /// Taken by this writer.
  int64_t num_transfers() const { return num_transfers_; }

 private:
  int descriptor_;
  RoundShape shape_;
  std::vector<uint8_t> buffer_;
  int64_t num_rounds_;
  int64_t num_transfers_ = 0;
};

/// Transfers of some rounds: structure of arrays.
struct RoundTransfers {
  std::vector<Picoseconds> start;
  std::vector<int32_t> route, chunk;
};

/// Reads frames, from memory that a file may be mapped to.
class RoundReader {
 public:
  /// Round r starts at r * `length`, which is at least 1. `frames` must outlive the reader.
  RoundReader(std::span<const uint8_t> frames, const RoundShape& shape, Picoseconds length)
      : frames_(frames), shape_(shape), length_(length) {}

  /// The transfers of the next rounds: about `wanted`, or a single round's; none at the end. Throws FormatError naming
  /// the byte at which a frame is damaged.
  RoundTransfers read(int64_t wanted);
  /// Where the next frame begins. Up to there all frames are whole.
  size_t position() const { return at_; }
  /// The round after the last one read.
  int64_t num_rounds() const { return next_round_; }

 private:
  void read_frame(RoundTransfers& transfers);

  std::span<const uint8_t> frames_;
  RoundShape shape_;
  Picoseconds length_;
  size_t at_ = 0;
  int64_t next_round_ = 0;
};

}  // namespace hocket::schedule
