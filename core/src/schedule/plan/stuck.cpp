#include "stuck.hpp"

namespace hocket::schedule::plan {
namespace {

/// The first block with a step that fits, -1: none.
template <typename Fits>
/// A deadlock is explained, not searched for: who could have ended the wait, found in the text of the plan. Slow, once.
int32_t block_with(const Program& program, Fits fits) {
  for (int32_t block = 0; block < std::ssize(program.blocks); block++) {
    for (int64_t s = program.blocks[block].first_step; s < program.blocks[block].last_step; s++) {
      if (fits(block, program.steps[s])) return block;
    }
  }
  return -1;
}

/// The block that could end the wait of `block` at `step`, -1: none.
int32_t awaited(const Program& program, const Progress& progress, const Memory& memory, int32_t block,
                const Step& step) {
  if (step.kind == StepKind::kBarrier) {
    return block_with(program, [&](int32_t other, const Step& s) {
      return s.kind == StepKind::kBarrier && s.object == step.object && !progress.waits_at[other];
    });
  }
  if (step.kind == StepKind::kAcquire) {
    return block_with(program,
                      [&](int32_t, const Step& s) { return s.kind == StepKind::kRelease && s.object == step.object; });
  }
  if (step.kind == StepKind::kWait) {
    return block_with(program, [&](int32_t, const Step& s) {
      const bool gives = s.kind == StepKind::kSignal || (s.kind == StepKind::kPost && s.signals);
      return gives && program.ends[s.object].partner == step.object;
    });
  }
  const int32_t launch = progress.launch[program.blocks[block].rank];
  const int64_t packet = *memory.missing_packet(step, launch);
  return block_with(program, [&](int32_t, const Step& s) {
    for (int64_t o = s.first_destination; o < s.last_operand; o++) {
      const Operand& operand = program.operands[o];
      const int64_t first = place(operand, launch);
      if (operand.packet && first <= packet && packet < first + s.count) return true;
    }
    return false;
  });
}

}  // namespace

std::vector<int64_t> stuck_blocks(const Program& program, const Progress& progress, const Memory& memory) {
  const auto finished = [&](int32_t block) { return progress.next_step[block] == program.blocks[block].last_step; };
  std::vector<int64_t> rows;
  for (int32_t block = 0; block < std::ssize(program.blocks); block++) {
    if (finished(block)) continue;
    const int64_t at = progress.next_step[block];
    const int32_t other = awaited(program, progress, memory, block, program.steps[at]);
    const int64_t step = other < 0 || finished(other) ? -1 : progress.next_step[other];
    rows.insert(rows.end(), {block, at, progress.launch[program.blocks[block].rank], other, step});
  }
  return rows;
}

}  // namespace hocket::schedule::plan
