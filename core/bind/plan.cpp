#include "hocket/schedule/plan/plan.hpp"

#include "bind.hpp"

namespace hocket::bind {
namespace {

namespace plan = schedule::plan;

nb::tuple execute(int32_t num_ranks, int32_t num_chunks, In<int32_t> block_rank, In<int64_t> first_step,
                  In<uint8_t> kind, In<uint8_t> flags, In<int32_t> object, In<int32_t> count, In<int64_t> first_source,
                  In<int64_t> first_destination, In<int64_t> operand_location, In<int64_t> operand_alternate,
                  In<uint8_t> operand_packet, In<int32_t> partner, In<uint8_t> port, In<int32_t> barrier_size,
                  In<int32_t> semaphore, In<int32_t> location_rank, In<int32_t> initial, In<uint8_t> callers,
                  In<int64_t> wanted_location, In<int32_t> wanted_chunk, In<int32_t> wanted_source, int32_t launches) {
  plan::Program program{
      num_ranks,     num_chunks,    {}, {}, {}, {}, copy(barrier_size), copy(semaphore), copy(location_rank),
      copy(initial), copy(callers), {}};
  for (size_t b = 0; b < block_rank.size(); b++) {
    program.blocks.push_back({block_rank.data()[b], first_step.data()[b], first_step.data()[b + 1]});
  }
  for (size_t s = 0; s < kind.size(); s++) {
    const uint8_t flag = flags.data()[s];
    program.steps.push_back({static_cast<plan::StepKind>(kind.data()[s]), (flag & 1) != 0, (flag & 2) != 0,
                             (flag & 4) != 0, object.data()[s], count.data()[s], first_source.data()[s],
                             first_destination.data()[s], first_source.data()[s + 1]});
  }
  for (size_t o = 0; o < operand_location.size(); o++) {
    program.operands.push_back(
        {operand_location.data()[o], operand_alternate.data()[o], operand_packet.data()[o] != 0});
  }
  for (size_t e = 0; e < partner.size(); e++) program.ends.push_back({partner.data()[e], port.data()[e] != 0});
  for (size_t w = 0; w < wanted_location.size(); w++) {
    program.wanted.push_back({wanted_location.data()[w], wanted_chunk.data()[w], wanted_source.data()[w]});
  }
  const auto poll = [] {
    nb::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  };
  plan::Execution execution = unlocked([&] { return plan::execute(program, launches, poll); });
  return nb::make_tuple(static_cast<int>(execution.outcome), give(std::move(execution.facts)),
                        give(std::move(execution.weak)), execution.events);
}

}  // namespace

void bind_plan(nb::module_& m) {
  m.def("execute_plan", &execute, "num_ranks"_a, "num_chunks"_a, "block_rank"_a, "first_step"_a, "kind"_a, "flags"_a,
        "object"_a, "count"_a, "first_source"_a, "first_destination"_a, "operand_location"_a, "operand_alternate"_a,
        "operand_packet"_a, "partner"_a, "port"_a, "barrier_size"_a, "semaphore"_a, "location_rank"_a, "initial"_a,
        "callers"_a, "wanted_location"_a, "wanted_chunk"_a, "wanted_source"_a, "launches"_a);
}

}  // namespace hocket::bind
