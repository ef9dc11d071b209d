#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <chrono>
#include <optional>
#include <sstream>
#include <utility>

#include "bind.hpp"
#include "hocket/error.hpp"
#include "hocket/executor/binding.hpp"
#include "hocket/executor/library.hpp"
#include "hocket/executor/mesh.hpp"

namespace hocket::bind {
namespace {

using executor::Address;
using executor::Choice;
using executor::Library;
using executor::Mesh;
using executor::Program;
using executor::Transport;

void init_program(Program* self, const std::string& text, const std::string& source) {
  std::istringstream stream(text);
  new (self) Program(executor::read_program(stream, source));
}

void init_library(Library* self, const std::string& text, const std::string& source) {
  std::istringstream stream(text);
  new (self) Library(Library::read(stream, source));
}

executor::Request request_of(const std::string& kind, int32_t ranks, int32_t root, int64_t share_bytes,
                             int64_t element_bytes, bool in_place) {
  return {&executor::find_kind(kind), ranks, root, share_bytes, element_bytes, in_place};
}

std::optional<std::pair<int32_t, bool>> find(const Library& library, const std::string& kind, int32_t ranks,
                                             int32_t root, int64_t share_bytes, int64_t element_bytes, bool in_place) {
  const auto choice = library.find(request_of(kind, ranks, root, share_bytes, element_bytes, in_place));
  if (!choice) return std::nullopt;
  return std::pair(choice->number, choice->in_place);
}

std::string why_none(const Library& library, const std::string& kind, int32_t ranks, int32_t root) {
  return library.why_none(request_of(kind, ranks, root, 0, 1, false));
}

int64_t chunk_bytes(const Library& library, int32_t number, int64_t share_bytes, int64_t element_bytes) {
  return library[number].chunk_bytes(share_bytes, element_bytes);
}

/// Messages that an object of Python sends and receives; `device`: it does the work on memory, too, which is not the
/// processor's. Addresses are numbers.
/// The one transport whose messages Python sends: process groups of torch.distributed, and tests. The engine's loop
/// stays in C++, and takes the lock for each round.
class PythonMessages final : public executor::Messages {
 public:
  PythonMessages(nb::object handler, bool device) : handler_(std::move(handler)), device_(device) {}

 private:
  static uintptr_t number(const std::byte* address) { return reinterpret_cast<uintptr_t>(address); }

  static nb::list rows(const std::vector<executor::Message>& messages, const Memory& memory) {
    nb::list rows;
    for (const executor::Message& message : messages) {
      const int64_t bytes = message.count * memory.chunk_bytes;
      rows.append(nb::make_tuple(message.peer, number(memory.at(message.place)), bytes));
    }
    return rows;
  }

  void exchange(const executor::Round& round, const Memory& memory) override {
    nb::gil_scoped_acquire held;
    handler_.attr("exchange")(rows(round.sends, memory), rows(round.receives, memory));
  }

  std::byte* take(int64_t bytes) override {
    if (!device_) return Messages::take(bytes);
    nb::gil_scoped_acquire held;
    return reinterpret_cast<std::byte*>(nb::cast<uintptr_t>(handler_.attr("take")(bytes)));
  }

  void copy(const std::byte* source, std::byte* target, int64_t bytes) override {
    if (!device_) return Messages::copy(source, target, bytes);
    nb::gil_scoped_acquire held;
    handler_.attr("copy")(number(source), number(target), bytes);
  }

  void reduce(const executor::Call& call, const std::byte* left, const std::byte* right, std::byte* out,
              int64_t bytes) override {
    if (!device_) return Messages::reduce(call, left, right, out, bytes);
    nb::gil_scoped_acquire held;
    handler_.attr("reduce")(number(left), number(right), number(out), bytes);
  }

  nb::object handler_;
  bool device_;
};

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

executor::Call call_of(std::array<std::byte*, 2> buffers, int64_t chunk_bytes, int type, int op, uint64_t signature,
                       int64_t timeout_ms) {
  return {buffers,
          chunk_bytes,
          static_cast<executor::ElementType>(type),
          static_cast<executor::ReduceOp>(op),
          signature,
          std::chrono::milliseconds(timeout_ms),
          check_signals};
}

void run(const Program& program, Transport& transport, uintptr_t input, uintptr_t output, int64_t chunk_bytes, int type,
         int op, uint64_t signature, int64_t timeout_ms) {
  const std::array buffers{reinterpret_cast<std::byte*>(input), reinterpret_cast<std::byte*>(output)};
  const executor::Call call = call_of(buffers, chunk_bytes, type, op, signature, timeout_ms);
  unlocked([&] {
    const executor::Workspace::Lease lease(transport.workspace());
    transport.run(program, call);
  });
}

/// As `run`, of a call on the caller's own buffers (null: none), whatever their sizes.
void serve(const Library& library, std::pair<int32_t, bool> choice, const Program& program, Transport& transport,
           int32_t rank, uintptr_t input, uintptr_t output, bool are_one, int64_t share_bytes, int type, int op,
           uint64_t signature, int64_t timeout_ms) {
  const executor::Algorithm& algorithm = library[choice.first];
  // What is only moved is counted in bytes, whatever its type.
  const int64_t element =
      algorithm.kind->reduces ? executor::element_bytes(static_cast<executor::ElementType>(type)) : 1;
  const executor::Request request{algorithm.kind, algorithm.ranks, algorithm.root, share_bytes, element, are_one};
  const executor::CallerBuffers caller{reinterpret_cast<const std::byte*>(input), reinterpret_cast<std::byte*>(output),
                                       are_one};
  unlocked([&] {
    executor::Workspace& workspace = transport.workspace();
    const executor::Workspace::Lease lease(workspace);
    const executor::Binding binding(algorithm, {choice.first, choice.second}, request, rank, caller, workspace);
    const executor::Call call = call_of(binding.buffers(), binding.chunk_bytes(), type, op, signature, timeout_ms);
    transport.run(program, call);
    binding.finish();
  });
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
  nb::class_<Program>(m, "Program").def("__init__", &init_program, "text"_a, "source"_a);
  nb::class_<Library>(m, "Library")
      .def("__init__", &init_library, "text"_a, "source"_a)
      .def("find", &find, "kind"_a, "ranks"_a, "root"_a, "share_bytes"_a, "element_bytes"_a, "in_place"_a)
      .def("why_none", &why_none, "kind"_a, "ranks"_a, "root"_a)
      .def("chunk_bytes", &chunk_bytes, "number"_a, "share_bytes"_a, "element_bytes"_a);
  nb::class_<Transport>(m, "Transport");
  nb::class_<Mesh, Transport>(m, "Mesh")
      .def("__init__", &init_mesh, "rank"_a, "host"_a, "token"_a, "nearby"_a)
      .def_prop_ro("port", &Mesh::port)
      .def_prop_ro("lost", &Mesh::lost)
      .def_prop_ro("transports", &Mesh::transports)
      .def("open", &open, "program"_a, "hosts"_a, "ports"_a, "tokens"_a, "nearby"_a, "timeout_ms"_a)
      .def("close", &Mesh::close);
  nb::class_<PythonMessages, Transport>(m, "Messages").def(nb::init<nb::object, bool>(), "handler"_a, "device"_a);
  m.def("run", &run, "program"_a, "transport"_a, "input"_a, "output"_a, "chunk_bytes"_a, "type"_a, "op"_a,
        "signature"_a, "timeout_ms"_a);
  m.def("serve", &serve, "library"_a, "choice"_a, "program"_a, "transport"_a, "rank"_a, "input"_a, "output"_a,
        "are_one"_a, "share_bytes"_a, "type"_a, "op"_a, "signature"_a, "timeout_ms"_a);
  m.def("reduce", &reduce, "type"_a, "op"_a, "left"_a, "right"_a, "out"_a, "count"_a);
}

}  // namespace hocket::bind
