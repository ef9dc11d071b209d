#include <cstring>

#include "hocket/error.hpp"
#include "hocket/executor/transport.hpp"

namespace hocket::executor {

void Messages::run(const Program& program, const Call& call) {
  if (!program.rounds) throw ScheduleError("the program was not written for a transport that only sends and receives");
  // From the workspace, which the caller's lease gives back at the end of the call.
  std::byte* const scratch = take(program.chunks[2] * call.chunk_bytes);
  std::byte* const staging = take(program.rounds->staging * call.chunk_bytes);
  const Memory memory{{call.buffers[0], call.buffers[1], scratch, staging}, call.chunk_bytes};
  for (const Round& round : program.rounds->rounds) {
    // Then the local steps, in order: they may read what has just come and write what the next round sends.
    if (!round.sends.empty() || !round.receives.empty()) exchange(round, memory);
    for (const LocalStep& step : round.local_steps) {
      std::byte* const target = memory.at(step.target);
      const std::byte* const source = memory.at(step.source);
      const int64_t bytes = step.count * call.chunk_bytes;
      if (step.other) {
        reduce(call, source, memory.at(*step.other), target, bytes);
      } else if (target != source) {
        copy(source, target, bytes);
      }
    }
  }
}

void Messages::copy(const std::byte* source, std::byte* target, int64_t bytes) { std::memmove(target, source, bytes); }

void Messages::reduce(const Call& call, const std::byte* left, const std::byte* right, std::byte* out, int64_t bytes) {
  executor::reduce(call.type, call.op, left, right, out, bytes / element_bytes(call.type));
}

}  // namespace hocket::executor
