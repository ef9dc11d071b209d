#include "hocket/schedule/interpreter.hpp"

#include "bind.hpp"
#include "hocket/error.hpp"

namespace hocket::bind {
namespace {

using schedule::FlatProgram;

void require_length(const char* name, size_t length, size_t expected) {
  if (length != expected) {
    throw ScheduleError(std::string("program column ") + name + " has " + std::to_string(length) + " rows, expected " +
                        std::to_string(expected));
  }
}

nb::tuple execute(int32_t num_ranks, int32_t num_connections, In<int32_t> block_rank, In<int32_t> send_connection,
                  In<int32_t> receive_connection, In<int64_t> first_step, In<uint8_t> type, In<int32_t> count,
                  In<int64_t> source, In<int64_t> destination, In<int64_t> depends_on, In<int32_t> location_rank,
                  In<int32_t> initial, In<int64_t> wanted_location, In<int32_t> wanted_chunk, In<int32_t> wanted_source,
                  int32_t fifo_depth, int32_t max_count) {
  const size_t blocks = block_rank.size(), steps = type.size();
  require_length("send_connection", send_connection.size(), blocks);
  require_length("receive_connection", receive_connection.size(), blocks);
  require_length("first_step", first_step.size(), blocks + 1);
  require_length("count", count.size(), steps);
  require_length("source", source.size(), steps);
  require_length("destination", destination.size(), steps);
  require_length("depends_on", depends_on.size(), steps);
  require_length("initial", initial.size(), location_rank.size());
  require_length("wanted_chunk", wanted_chunk.size(), wanted_location.size());
  require_length("wanted_source", wanted_source.size(), wanted_location.size());

  FlatProgram program{num_ranks, num_connections, {}, {}, copy(location_rank), copy(initial), {}};
  for (size_t b = 0; b < blocks; b++) {
    program.blocks.push_back({block_rank.data()[b], send_connection.data()[b], receive_connection.data()[b],
                              first_step.data()[b], first_step.data()[b + 1]});
  }
  for (size_t s = 0; s < steps; s++) {
    program.steps.push_back({static_cast<schedule::StepType>(type.data()[s]), count.data()[s], source.data()[s],
                             destination.data()[s], depends_on.data()[s]});
  }
  for (size_t w = 0; w < wanted_location.size(); w++) {
    program.wanted.push_back({wanted_location.data()[w], wanted_chunk.data()[w], wanted_source.data()[w]});
  }
  schedule::Execution execution;
  {
    nb::gil_scoped_release release;
    execution = schedule::execute(program, fifo_depth, max_count);
  }
  return nb::make_tuple(static_cast<int>(execution.outcome), give(std::move(execution.facts)), execution.messages);
}

}  // namespace

void bind_interpreter(nb::module_& m) {
  m.def("execute", &execute, "num_ranks"_a, "num_connections"_a, "block_rank"_a, "send_connection"_a,
        "receive_connection"_a, "first_step"_a, "type"_a, "count"_a, "source"_a, "destination"_a, "depends_on"_a,
        "location_rank"_a, "initial"_a, "wanted_location"_a, "wanted_chunk"_a, "wanted_source"_a, "fifo_depth"_a,
        "max_count"_a);
}

}  // namespace hocket::bind
