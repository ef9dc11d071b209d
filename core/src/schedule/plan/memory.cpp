#include "memory.hpp"

namespace hocket::schedule::plan {

Memory::Memory(const Program& program)
    : program_(program),
      memory_(program.initial.size()),
      stamp_(program.initial.size(), -1),
      writer_(program.initial.size(), -1),
      shown_(program.initial.size(), -1),
      wanted_of_(program.num_ranks),
      callers_of_(program.num_ranks) {
  for (const Wanted& wanted : program.wanted) wanted_of_[program.location_rank[wanted.location]].push_back(wanted);
  for (int64_t location = 0; location < std::ssize(program.callers); location++) {
    if (program.callers[location]) callers_of_[program.location_rank[location]].push_back(location);
  }
}

void Memory::start_launch(int32_t rank, int32_t launch) {
  for (const int64_t location : callers_of_[rank]) {
    const int32_t chunk = program_.initial[location];
    memory_[location] = chunk < 0 ? 0 : values_.original(rank, chunk + launch * program_.num_chunks);
  }
}

std::optional<int64_t> Memory::missing_packet(const Step& step, int32_t launch) const {
  for (int64_t o = step.first_source; o < step.first_destination; o++) {
    if (!program_.operands[o].packet) continue;
    const int64_t first = place(program_.operands[o], launch);
    for (int64_t location = first; location < first + step.count; location++) {
      if (stamp_[location] != launch) return location;
    }
  }
  return std::nullopt;
}

// All operands are read before anything is written, so a step may write where it reads.
std::vector<int32_t> Memory::sums(const Step& step, int32_t launch) {
  std::vector<int32_t> sums(step.count);
  for (int32_t k = 0; k < step.count; k++) {
    std::optional<int32_t> total;
    for (int64_t o = step.first_source; o < step.first_destination; o++) {
      const int32_t value = memory_[place(program_.operands[o], launch) + k];
      total = total ? values_.sum(*total, value) : value;
    }
    sums[k] = *total;
  }
  return sums;
}

std::vector<int64_t> Memory::write(const Operand& operand, const std::vector<int32_t>& values, int64_t event,
                                   int64_t shown, Recorder& recorder, std::vector<int32_t>& ready) {
  const auto& events = recorder.log().events;
  const int32_t launch = events[event].launch;
  const int64_t first = place(operand, launch);
  // Several threads may write one packet alike (a packet is data and flag in one store); only other data is an error.
  if (operand.packet && repeats(values, first, launch)) {
    recorder.note_idle(event, &operand - program_.operands.data());
    return {};
  }
  for (int64_t k = 0; k < std::ssize(values); k++) {
    memory_[first + k] = values[k];
    if (!operand.packet) continue;
    // The reader may have taken the first already, or not: which one it sums is open.
    if (stamp_[first + k] == launch) return {first + k, events[writer_[first + k]].step, events[event].step};
    stamp_[first + k] = launch;
    writer_[first + k] = event;
    shown_[first + k] = shown;
    if (const auto waiters = packet_waiters_.extract(first + k)) {
      ready.insert(ready.end(), waiters.mapped().begin(), waiters.mapped().end());
    }
  }
  return {};
}

bool Memory::repeats(const std::vector<int32_t>& values, int64_t first, int32_t launch) const {
  for (int64_t k = 0; k < std::ssize(values); k++) {
    if (stamp_[first + k] != launch || memory_[first + k] != values[k]) return false;
  }
  return true;
}

std::vector<int64_t> Memory::wrong_value(int32_t rank, int32_t launch) {
  for (const Wanted& wanted : wanted_of_[rank]) {
    // Chunks of launch n have numbers of their own, so what an earlier launch left is never taken for this one's.
    const int32_t value = memory_[wanted.location];
    if (values_.is(value, wanted.chunk + launch * program_.num_chunks, wanted.source, program_.num_ranks)) continue;
    std::vector<int64_t> facts{wanted.location, launch};
    for (const auto& c : values_.of(value)) {
      facts.insert(facts.end(), {c.rank, c.chunk % program_.num_chunks, c.chunk / program_.num_chunks, c.times});
    }
    return facts;
  }
  return {};
}

}  // namespace hocket::schedule::plan
