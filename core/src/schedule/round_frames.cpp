#include "hocket/schedule/round_frames.hpp"

#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <string>

#include "hocket/checksum.hpp"
#include "hocket/error.hpp"

namespace hocket::schedule {
namespace {

constexpr size_t kBuffer = 1 << 22;

template <size_t kBytes>
void put(std::vector<uint8_t>& bytes, size_t at, uint64_t value) {
  for (size_t k = 0; k < kBytes; k++) bytes[at + k] = static_cast<uint8_t>(value >> (8 * k));
}

template <size_t kBytes>
uint64_t get(const uint8_t* bytes) {
  uint64_t value = 0;
  for (size_t k = 0; k < kBytes; k++) value |= uint64_t{bytes[k]} << (8 * k);
  return value;
}

}  // namespace

RoundWriter::RoundWriter(int descriptor, const RoundShape& shape, int64_t next_round)
    : descriptor_(descriptor), shape_(shape), num_rounds_(next_round) {}

void RoundWriter::take(int64_t round, std::span<const int32_t> routes, std::span<const int32_t> chunks) {
  if (routes.empty()) return;
  if (round < num_rounds_ || routes.size() != chunks.size()) {
    throw ScheduleError("round " + std::to_string(round) + " must come after the others, with a chunk for each route");
  }
  const size_t begin = buffer_.size(), bitmap = begin + RoundShape::kHead, ids = bitmap + shape_.bitmap_bytes();
  const size_t width = shape_.chunk_bytes();
  buffer_.resize(ids + routes.size() * width);
  put<4>(buffer_, begin + 4, routes.size());
  put<8>(buffer_, begin + 8, static_cast<uint64_t>(round));
  for (size_t i = 0; i < routes.size(); i++) {
    if (routes[i] <= (i == 0 ? -1 : routes[i - 1]) || routes[i] >= shape_.num_routes || chunks[i] < 0 ||
        chunks[i] >= shape_.num_chunks) {
      throw ScheduleError("round " + std::to_string(round) + ": routes must ascend, routes and chunks exist");
    }
    buffer_[bitmap + routes[i] / 8] |= static_cast<uint8_t>(1 << (routes[i] % 8));
    width == 2 ? put<2>(buffer_, ids + i * 2, chunks[i]) : put<4>(buffer_, ids + i * 4, chunks[i]);
  }
  // Last, over all that follows it: a frame that was cut off by a full disk or a killed job is told from a whole one.
  put<4>(buffer_, begin, crc32(std::span(buffer_).subspan(begin + 4)));
  num_rounds_ = round + 1;
  num_transfers_ += static_cast<int64_t>(routes.size());
  if (buffer_.size() >= kBuffer) flush();
}

void RoundWriter::flush() {
  for (size_t done = 0; done < buffer_.size();) {
    const ssize_t written = ::write(descriptor_, buffer_.data() + done, buffer_.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      throw Error(std::string("the rounds of the schedule cannot be written: ") + std::strerror(errno) +
                  "; choose another place");
    }
    done += static_cast<size_t>(written);
  }
  buffer_.clear();
}

// Whole rounds: the caller gets transfers in the order of their starts and never half an instant.
RoundTransfers RoundReader::read(int64_t wanted) {
  RoundTransfers transfers;
  while (at_ < frames_.size() && static_cast<int64_t>(transfers.start.size()) < wanted) read_frame(transfers);
  return transfers;
}

void RoundReader::read_frame(RoundTransfers& transfers) {
  const std::string place = "the round at byte " + std::to_string(at_) + " of the rounds";
  const std::span<const uint8_t> rest = frames_.subspan(at_);
  const size_t width = shape_.chunk_bytes(), fixed = RoundShape::kHead + shape_.bitmap_bytes();
  // Sizes are compared before anything is read, and the checksum before anything is believed.
  if (rest.size() < fixed) throw FormatError(place + " is truncated");
  const uint64_t count = get<4>(&rest[4]), round = get<8>(&rest[8]);
  if (rest.size() - fixed < count * width) throw FormatError(place + " is truncated");
  const size_t size = fixed + count * width;
  if (crc32(rest.subspan(4, size - 4)) != get<4>(&rest[0])) {
    throw FormatError(place + " is damaged (its checksum differs)");
  }
  if (count == 0 || round < static_cast<uint64_t>(next_round_) || round > static_cast<uint64_t>(kHorizon / length_)) {
    throw FormatError(place + " is empty, or out of order");
  }
  const size_t before = transfers.start.size();
  transfers.start.resize(before + count, static_cast<Picoseconds>(round) * length_);
  transfers.route.resize(before + count);
  transfers.chunk.resize(before + count);
  size_t found = 0;
  for (size_t byte = 0; byte < shape_.bitmap_bytes(); byte++) {
    for (unsigned bits = rest[RoundShape::kHead + byte]; bits != 0; bits &= bits - 1) {
      // Damaged frames may mark more routes than they claim; they are counted but not stored.
      if (found < count) transfers.route[before + found] = static_cast<int32_t>(byte * 8 + std::countr_zero(bits));
      found++;
    }
  }
  if (found != count || transfers.route.back() >= shape_.num_routes) {
    throw FormatError(place + " marks other routes than it has chunks for");
  }
  for (size_t i = 0; i < count; i++) {
    const uint8_t* id = &rest[fixed + i * width];
    transfers.chunk[before + i] = static_cast<int32_t>(width == 2 ? get<2>(id) : get<4>(id));
  }
  next_round_ = static_cast<int64_t>(round) + 1;
  at_ += size;
}

}  // namespace hocket::schedule
