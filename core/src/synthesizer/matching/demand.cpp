#include "hocket/synthesizer/matching/demand.hpp"

#include <limits>
#include <utility>

#include "hocket/columns.hpp"
#include "hocket/error.hpp"

namespace hocket::synthesizer {

Demand::Demand(int32_t num_ranks, std::vector<int32_t> origin)
    : Demand(schedule::RankSets(num_ranks, std::vector<int64_t>{0}, {}), origin,
             std::vector<int32_t>(origin.size(), schedule::RankSets::kEveryone),
             std::vector<int32_t>(origin.size(), schedule::RankSets::kEveryone), {}, {}) {}

Demand::Demand(schedule::RankSets sets, std::vector<int32_t> origin, std::vector<int32_t> wanted,
               std::vector<int32_t> through, std::vector<int64_t> bytes, std::vector<int32_t> priority)
    : sets(std::move(sets)),
      origin(std::move(origin)),
      wanted(std::move(wanted)),
      through(std::move(through)),
      bytes(std::move(bytes)),
      priority(std::move(priority)) {
  const auto fits = [&](size_t size, bool optional) { return size == this->origin.size() || (optional && size == 0); };
  if (!fits(this->wanted.size(), false) || !fits(this->through.size(), false) || !fits(this->bytes.size(), true) ||
      !fits(this->priority.size(), true)) {
    throw ScheduleError("the columns of a demand differ in length");
  }
  check_within(this->bytes, 0, std::numeric_limits<int64_t>::max(), "the bytes of chunks");
  this->sets.check(this->wanted, "what is wanted");
  this->sets.check(this->through, "the way");
  for (const int32_t rank : this->origin) {
    if (rank < 0) throw ScheduleError("a chunk that is spread must be held by one rank, got " + std::to_string(rank));
  }
  this->sets.check(this->origin, "the origin");
}

// A rank that holds a chunk from the beginning lacks nothing of it, even where it is among those that want it.
BitRows Demand::lacking() const {
  BitRows rows(sets.num_ranks(), words());
  for (int32_t chunk = 0; chunk < num_chunks(); chunk++) {
    for (const int32_t rank : sets.of(wanted[chunk])) insert(rows[rank], chunk);
    erase(rows[origin[chunk]], chunk);
  }
  return rows;
}

}  // namespace hocket::synthesizer
