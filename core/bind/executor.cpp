#include <algorithm>
#include <chrono>

#include "bind.hpp"
#include "hocket/error.hpp"
#include "hocket/executor/mesh.hpp"
#include "hocket/executor/reduce.hpp"
#include "hocket/executor/run.hpp"

namespace hocket::bind {
namespace {

using executor::Address;
using executor::Mesh;
using executor::Program;

/// Rows of (type, source buffer, source offset, destination buffer, destination offset, count, depend block, depend
/// step), and of (endpoint to send to, endpoint to receive from, number of steps).
void init_program(Program* self, In<int64_t> chunks, In<int32_t> endpoints, In<int32_t> blocks, In<int32_t> steps) {
  constexpr size_t kStepColumns = 8, kBlockColumns = 3;
  Program program{};
  if (chunks.size() != program.chunks.size()) throw ScheduleError("a rank has three buffers");
  std::copy_n(chunks.data(), program.chunks.size(), program.chunks.begin());
  for (size_t e = 0; e + 1 < endpoints.size(); e += 2) {
    program.endpoints.push_back({endpoints.data()[e], endpoints.data()[e + 1]});
  }
  for (size_t s = 0; s + kStepColumns <= steps.size(); s += kStepColumns) {
    const int32_t* row = steps.data() + s;
    program.steps.push_back({static_cast<schedule::StepType>(row[0]),
                             {static_cast<uint8_t>(row[1]), row[2]},
                             {static_cast<uint8_t>(row[3]), row[4]},
                             row[5],
                             row[6],
                             row[7]});
  }
  int64_t first = 0;
  for (size_t b = 0; b + kBlockColumns <= blocks.size(); b += kBlockColumns) {
    const int32_t* row = blocks.data() + b;
    program.blocks.push_back({row[0], row[1], first, first + row[2]});
    first += row[2];
  }
  if (first != static_cast<int64_t>(program.steps.size())) throw ScheduleError("thread blocks do not hold all steps");
  executor::check(program);
  new (self) Program(std::move(program));
}

void init_mesh(Mesh* self, int32_t rank, const std::string& host, uint64_t token, uint64_t nearby) {
  new (self) Mesh(rank, {host, 0, token, nearby});
}

/// Raises what a signal's handler raises, such as KeyboardInterrupt; Python runs handlers in its main thread only.
void check_signals() {
  nb::gil_scoped_acquire held;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

void open(Mesh& mesh, const Program& program, const std::vector<std::string>& hosts, const std::vector<uint16_t>& ports,
          const std::vector<uint64_t>& tokens, const std::vector<uint64_t>& nearby, int64_t timeout_ms) {
  if (hosts.size() != ports.size() || hosts.size() != tokens.size() || hosts.size() != nearby.size()) {
    throw Error("address columns differ in length");
  }
  std::vector<Address> addresses;
  for (size_t rank = 0; rank < hosts.size(); rank++) {
    addresses.push_back({hosts[rank], ports[rank], tokens[rank], nearby[rank]});
  }
  for (const executor::Endpoint& endpoint : program.endpoints) {
    if (endpoint.peer < 0 || endpoint.peer >= static_cast<int32_t>(addresses.size())) {
      throw ScheduleError("the program talks to rank " + std::to_string(endpoint.peer) + " of " +
                          std::to_string(addresses.size()));
    }
  }
  const auto deadline = executor::Clock::now() + std::chrono::milliseconds(timeout_ms);
  unlocked([&] { mesh.open(program.endpoints, addresses, deadline, check_signals); });
}

void run(const Program& program, Mesh& mesh, uintptr_t input, uintptr_t output, int64_t chunk_bytes, int type, int op,
         uint64_t signature, int64_t timeout_ms) {
  const executor::Call call{{reinterpret_cast<std::byte*>(input), reinterpret_cast<std::byte*>(output)},
                            chunk_bytes,
                            static_cast<executor::ElementType>(type),
                            static_cast<executor::ReduceOp>(op),
                            signature,
                            std::chrono::milliseconds(timeout_ms),
                            check_signals};
  unlocked([&] { executor::run(program, mesh, call); });
}

void reduce(int type, int op, uintptr_t left, uintptr_t right, uintptr_t out, int64_t count) {
  unlocked([&] {
    executor::reduce(static_cast<executor::ElementType>(type), static_cast<executor::ReduceOp>(op),
                     reinterpret_cast<const std::byte*>(left), reinterpret_cast<const std::byte*>(right),
                     reinterpret_cast<std::byte*>(out), count);
  });
}

}  // namespace

void bind_executor(nb::module_& m) {
  nb::class_<Program>(m, "Program").def("__init__", &init_program, "chunks"_a, "endpoints"_a, "blocks"_a, "steps"_a);
  nb::class_<Mesh>(m, "Mesh")
      .def("__init__", &init_mesh, "rank"_a, "host"_a, "token"_a, "nearby"_a)
      .def_prop_ro("port", &Mesh::port)
      .def_prop_ro("lost", &Mesh::lost)
      .def("open", &open, "program"_a, "hosts"_a, "ports"_a, "tokens"_a, "nearby"_a, "timeout_ms"_a)
      .def("close", &Mesh::close);
  m.def("run", &run, "program"_a, "mesh"_a, "input"_a, "output"_a, "chunk_bytes"_a, "type"_a, "op"_a, "signature"_a,
        "timeout_ms"_a);
  m.def("reduce", &reduce, "type"_a, "op"_a, "left"_a, "right"_a, "out"_a, "count"_a);
}

}  // namespace hocket::bind
