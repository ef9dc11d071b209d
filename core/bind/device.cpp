#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "bind.hpp"
#include "hocket/device/shared_window.hpp"
#include "hocket/device/tables.hpp"
#include "hocket/device/threads.hpp"
#include "hocket/error.hpp"
#include "hocket/executor/binding.hpp"
#include "hocket/executor/library.hpp"

namespace hocket::bind {
namespace {

using device::Call;
using device::RunRow;
using device::SharedWindow;
using device::SwitchTables;
using device::SwitchWindow;
using device::Tables;
using device::Threads;
using device::Window;

void init_tables(Tables* self, const executor::Program& program, In<int32_t> numbers, int32_t largest_count) {
  new (self) Tables(device::tables_of(program, view(numbers), largest_count));
}

/// `rows`: five numbers for each run, in the order of `RunRow`.
void init_switch_tables(SwitchTables* self, In<int32_t> rows, bool adds, bool spreads) {
  const std::span<const int32_t> numbers = view(rows);
  new (self) SwitchTables{{}, adds, spreads};
  for (size_t at = 0; at + 5 <= numbers.size(); at += 5) {
    self->runs.push_back({numbers[at], numbers[at + 1], numbers[at + 2], numbers[at + 3], numbers[at + 4]});
  }
}

/// A table as it is copied to a device.
template <typename Row>
nb::bytes bytes_of(const std::vector<Row>& rows) {
  return nb::bytes(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(Row));
}

/// What decides how a program is run, besides the caller's memory: as `hocket.runtime.device` has it.
struct Way {
  int32_t element;
  int32_t reduction;
  bool is_mean;
  int32_t depth;
  bool packets;
  uint64_t signature;
  int64_t timeout_ms;
};

/// The same for threads and for kernels, so that what was tested on the one is what runs on the other.
Call call_of(const executor::Algorithm& algorithm, std::array<std::byte*, 2> buffers, int64_t chunk_bytes,
             const Way& way) {
  const int64_t output_chunks = algorithm.chunks / (algorithm.kind->has_small_output ? algorithm.ranks : 1);
  return {buffers,     chunk_bytes,   way.is_mean ? output_chunks * chunk_bytes : 0,
          way.element, way.reduction, way.depth,
          way.packets, way.signature, std::chrono::milliseconds(way.timeout_ms)};
}

void init_threads(Threads* self, int32_t rank, const std::vector<uintptr_t>& windows,
                  const std::vector<int32_t>& processes, const Window& window, int32_t most_blocks,
                  const std::optional<SwitchWindow>& switches, int32_t lanes, std::optional<uint64_t> seed) {
  std::vector<std::byte*> places;
  for (const uintptr_t place : windows) places.push_back(reinterpret_cast<std::byte*>(place));
  new (self) Threads(rank, places, processes, window, most_blocks, switches, lanes, seed);
}

/// Raises what a signal's handler raises, such as KeyboardInterrupt.
void check_signals() {
  nb::gil_scoped_acquire held;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// A call on the caller's own buffers (null: none), by the program of that position in the library.
template <typename AnyTables>
void serve(Threads& threads, const executor::Library& library, std::pair<int32_t, bool> choice, const AnyTables& tables,
           int32_t rank, uintptr_t input, uintptr_t output, bool are_one, int64_t share_bytes, int64_t element_bytes,
           const Way& way) {
  const executor::Algorithm& algorithm = library[choice.first];
  const executor::Request request{algorithm.kind, algorithm.ranks, algorithm.root, share_bytes, element_bytes, are_one};
  const executor::CallerBuffers caller{reinterpret_cast<const std::byte*>(input), reinterpret_cast<std::byte*>(output),
                                       are_one};
  unlocked([&] {
    executor::Workspace& workspace = threads.workspace();
    const executor::Workspace::Lease lease(workspace);
    const executor::Binding binding(algorithm, {choice.first, choice.second}, request, rank, caller, workspace);
    threads.run(tables, call_of(algorithm, binding.buffers(), binding.chunk_bytes(), way), check_signals);
    binding.finish();
  });
}

/// A call on memory that the program may work on as it is: its input and output, of shares of whole chunks.
template <typename AnyTables>
void run(Threads& threads, const executor::Library& library, int32_t number, const AnyTables& tables, uintptr_t input,
         uintptr_t output, int64_t share_bytes, int64_t element_bytes, const Way& way) {
  const executor::Algorithm& algorithm = library[number];
  const std::array buffers{reinterpret_cast<std::byte*>(input), reinterpret_cast<std::byte*>(output)};
  const int64_t chunk = algorithm.chunk_bytes(share_bytes, element_bytes);
  unlocked([&] { threads.run(tables, call_of(algorithm, buffers, chunk, way), check_signals); });
}

/// What a kernel is launched with: the struct itself, with the addresses of a device's memory in it.
nb::bytes launch_bytes(const Tables& tables, const Window& window, const executor::Library& library, int32_t number,
                       int32_t rank, uintptr_t input, uintptr_t output, int64_t share_bytes, int64_t element_bytes,
                       const Way& way, uintptr_t windows, uintptr_t blocks, uintptr_t steps, uintptr_t scratch,
                       const std::vector<uintptr_t>& state) {
  const executor::Algorithm& algorithm = library[number];
  const std::array buffers{reinterpret_cast<std::byte*>(input), reinterpret_cast<std::byte*>(output)};
  const Call call = call_of(algorithm, buffers, algorithm.chunk_bytes(share_bytes, element_bytes), way);
  device::Launch launch = device::launch_of(tables, window, call, rank, algorithm.ranks);
  const auto word = [&](size_t k) { return reinterpret_cast<uint64_t*>(state.at(k)); };
  launch.windows = reinterpret_cast<uint8_t* const*>(windows);
  launch.blocks = reinterpret_cast<const device::BlockRow*>(blocks);
  launch.steps = reinterpret_cast<const device::StepRow*>(steps);
  launch.buffers[2] = reinterpret_cast<uint8_t*>(scratch);
  launch.state = {word(0), word(1), word(2), word(3), word(4), word(5)};
  return nb::bytes(reinterpret_cast<const char*>(&launch), sizeof(launch));
}

/// Likewise of a program whose chunks are added and copied on the way; `multicast` 0: there is no such address.
nb::bytes switch_launch_bytes(const SwitchTables& tables, const SwitchWindow& window, const executor::Library& library,
                              int32_t number, int32_t rank, uintptr_t input, uintptr_t output, int64_t share_bytes,
                              int64_t element_bytes, const Way& way, uintptr_t windows, uintptr_t multicast,
                              uintptr_t runs, uintptr_t failure, uintptr_t met) {
  const executor::Algorithm& algorithm = library[number];
  const std::array buffers{reinterpret_cast<std::byte*>(input), reinterpret_cast<std::byte*>(output)};
  const Call call = call_of(algorithm, buffers, algorithm.chunk_bytes(share_bytes, element_bytes), way);
  device::SwitchLaunch launch = device::switch_launch_of(tables, window, call, rank);
  launch.windows = reinterpret_cast<uint8_t* const*>(windows);
  launch.multicast = reinterpret_cast<uint8_t*>(multicast);
  launch.runs = reinterpret_cast<const RunRow*>(runs);
  launch.failure = reinterpret_cast<uint64_t*>(failure);
  launch.met = reinterpret_cast<uint64_t*>(met);
  return nb::bytes(reinterpret_cast<const char*>(&launch), sizeof(launch));
}

/// Of a word that a device left: the peer, and what to say.
std::optional<std::pair<int32_t, std::string>> failure_of(uint64_t word) {
  if (word == 0) return std::nullopt;
  const device::Failure failure = device::Failure::of(word);
  return std::pair(failure.peer, device::words_of(failure));
}

template <typename AnyTables>
void bind_runs(nb::module_& m) {
  m.def("serve", &serve<AnyTables>, "threads"_a, "library"_a, "choice"_a, "tables"_a, "rank"_a, "input"_a, "output"_a,
        "are_one"_a, "share_bytes"_a, "element_bytes"_a, "way"_a);
  m.def("run", &run<AnyTables>, "threads"_a, "library"_a, "number"_a, "tables"_a, "input"_a, "output"_a,
        "share_bytes"_a, "element_bytes"_a, "way"_a);
}

}  // namespace

void bind_device(nb::module_& m) {
  nb::class_<Window>(m, "Window")
      .def(
          "__init__",
          [](Window* self, int32_t connections, int32_t plain_slots, int64_t slot_bytes, int64_t packet_bytes) {
            if (slot_bytes <= 0 || packet_bytes <= 0 || (slot_bytes | packet_bytes) % sizeof(device::Pack) != 0) {
              throw hocket::Error("slots of " + std::to_string(slot_bytes) + " and " + std::to_string(packet_bytes) +
                                  " bytes: expected multiples of " + std::to_string(sizeof(device::Pack)));
            }
            new (self) Window{connections, plain_slots, slot_bytes, packet_bytes};
          },
          "connections"_a, "plain_slots"_a, "slot_bytes"_a, "packet_bytes"_a)
      .def_ro("connections", &Window::connections)
      .def_prop_ro("bytes", &Window::bytes);
  nb::class_<Tables>(m, "Tables")
      .def("__init__", &init_tables, "program"_a, "numbers"_a, "largest_count"_a)
      .def_prop_ro("num_blocks", [](const Tables& self) { return self.blocks.size(); })
      .def_ro("scratch_chunks", &Tables::scratch_chunks)
      .def_prop_ro("blocks", [](const Tables& self) { return bytes_of(self.blocks); })
      .def_prop_ro("steps", [](const Tables& self) { return bytes_of(self.steps); });
  nb::class_<SwitchWindow>(m, "SwitchWindow")
      .def(
          "__init__",
          [](SwitchWindow* self, int64_t place, int64_t chunk_bytes, int64_t stripe_bytes, int32_t chunks,
             int32_t blocks, int32_t ranks) {
            if (place % device::kLineBytes != 0 || (chunk_bytes | stripe_bytes) % sizeof(device::Pack) != 0) {
              throw hocket::Error("a window over switches at " + std::to_string(place) + " of chunks of " +
                                  std::to_string(chunk_bytes) + " and stripes of " + std::to_string(stripe_bytes) +
                                  " bytes: expected multiples of lines and packs");
            }
            new (self) SwitchWindow{place, chunk_bytes, stripe_bytes, chunks, blocks, ranks};
          },
          "place"_a, "chunk_bytes"_a, "stripe_bytes"_a, "chunks"_a, "blocks"_a, "ranks"_a)
      .def_ro("num_blocks", &SwitchWindow::blocks)
      .def_prop_ro("bytes", &SwitchWindow::end);
  nb::class_<SwitchTables>(m, "SwitchTables")
      .def("__init__", &init_switch_tables, "rows"_a, "adds"_a, "spreads"_a)
      .def_prop_ro("runs", [](const SwitchTables& self) { return bytes_of(self.runs); });
  nb::class_<Way>(m, "Way").def(
      "__init__",
      [](Way* self, int32_t element, int32_t reduction, bool is_mean, int32_t depth, bool packets, uint64_t signature,
         int64_t timeout_ms) { new (self) Way{element, reduction, is_mean, depth, packets, signature, timeout_ms}; },
      "element"_a, "reduction"_a, "is_mean"_a, "depth"_a, "packets"_a, "signature"_a, "timeout_ms"_a);
  nb::class_<SharedWindow>(m, "SharedWindow")
      .def(nb::init<int64_t>(), "bytes"_a)
      .def(nb::init<int64_t, int32_t, int32_t>(), "bytes"_a, "process"_a, "descriptor"_a)
      .def_prop_ro("address", [](const SharedWindow& self) { return reinterpret_cast<uintptr_t>(self.data()); })
      .def_prop_ro("descriptor", &SharedWindow::descriptor);
  nb::class_<Threads>(m, "Threads")
      .def("__init__", &init_threads, "rank"_a, "windows"_a, "processes"_a, "window"_a, "most_blocks"_a,
           "switches"_a.none(), "lanes"_a, "seed"_a.none())
      .def_prop_ro("lost", &Threads::lost)
      .def("close", &Threads::close);
  bind_runs<Tables>(m);
  bind_runs<SwitchTables>(m);
  m.def("launch_bytes", &launch_bytes, "tables"_a, "window"_a, "library"_a, "number"_a, "rank"_a, "input"_a, "output"_a,
        "share_bytes"_a, "element_bytes"_a, "way"_a, "windows"_a, "blocks"_a, "steps"_a, "scratch"_a, "state"_a);
  m.def("switch_launch_bytes", &switch_launch_bytes, "tables"_a, "window"_a, "library"_a, "number"_a, "rank"_a,
        "input"_a, "output"_a, "share_bytes"_a, "element_bytes"_a, "way"_a, "windows"_a, "multicast"_a, "runs"_a,
        "failure"_a, "met"_a);
  m.def("failure_of", &failure_of, "word"_a);
  m.attr("LINE_BYTES") = device::kLineBytes;
}

}  // namespace hocket::bind
