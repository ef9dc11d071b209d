#include <string_view>

#include "bind.hpp"
#include "hocket/chakra/dependencies.hpp"
#include "hocket/chakra/reader.hpp"
#include "hocket/chakra/threads.hpp"
#include "hocket/chakra/writer.hpp"
#include "hocket/error.hpp"

namespace hocket::bind {
namespace {

using chakra::Columns;
using chakra::TraceView;

/// By hand, since nanobind's conversion would not say where in the file the bad name stands.
nb::object decode(std::span<const std::string_view> strings, const In<uint8_t>& records, const chakra::Place& place) {
  const auto decoded = nb::steal(PyTuple_New(std::ssize(strings)));
  for (Py_ssize_t number = 0; number < std::ssize(strings); number++) {
    const std::string_view text = strings[number];
    PyObject* object = PyUnicode_DecodeUTF8(text.data(), std::ssize(text), nullptr);
    if (object == nullptr) {
      PyErr_Clear();
      const auto offset = reinterpret_cast<const uint8_t*>(text.data()) - records.data();
      throw FormatError(std::string(place.source) + ": byte " + std::to_string(place.byte + offset) +
                        ": a name is not UTF-8");
    }
    PyTuple_SetItem(decoded.ptr(), number, object);
  }
  return decoded;
}

size_t whole_records(In<uint8_t> bytes, const std::string& source, uint64_t byte) {
  return chakra::whole_records(view(bytes), {source, byte});
}

/// The columns by name, and the tuple of strings.
nb::tuple read_nodes(In<uint8_t> records, const std::string& source, uint64_t byte, uint64_t row, bool keep_rest) {
  const chakra::Place place{source, byte, row};
  chakra::Nodes nodes;
  {
    nb::gil_scoped_release unlocked;
    nodes = chakra::read_nodes(view(records), place, keep_rest);
  }
  nb::dict columns;
  const auto hand_over = [&](const char* name, auto& column) { columns[name] = give(std::move(column)); };
  nodes.columns.each_attribute(hand_over);
  nodes.columns.each_list(hand_over);
  return nb::make_tuple(columns, decode(nodes.strings, records, place));
}

/// Views a `hocket.chakra.Trace` without copying it: valid as long as the object lives.
TraceView view_trace(nb::handle trace) {
  TraceView view;
  const auto look = [&]<typename T>(const char* name, std::span<const T>& column) {
    In<T> array;
    // Without conversion: a view of a temporary would dangle.
    if (!nb::try_cast(trace.attr(name), array, false)) {
      throw TraceError(std::string("column ") + name + " is not a contiguous array of the type its contract says");
    }
    column = bind::view(array);
  };
  view.columns.each_attribute(look);
  view.columns.each_list(look);
  for (const nb::handle text : trace.attr("strings")) {
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (data == nullptr) throw nb::python_error();
    view.strings.emplace_back(data, size);
  }
  view.check();
  return view;
}

/// Serializes a trace's nodes slice by slice, so that a large trace is never held twice.
class Encoder {
 public:
  explicit Encoder(nb::object trace) : trace_(std::move(trace)), view_(view_trace(trace_)) {}

  nb::bytes encode(size_t begin, size_t end) const {
    std::string out;
    {
      nb::gil_scoped_release unlocked;
      chakra::append_nodes(view_, begin, std::min(end, view_.columns.size()), out);
    }
    return nb::bytes(out.data(), out.size());
  }

 private:
  nb::object trace_;
  TraceView view_;
};

/// Rows with a duplicate id, rows with a dangling dependency and its id, and cycles as lists of rows.
nb::tuple find_dependency_faults(nb::handle trace, size_t max_cycles) {
  const TraceView viewed = view_trace(trace);
  chakra::DependencyFaults faults;
  {
    nb::gil_scoped_release unlocked;
    faults = chakra::find_dependency_faults(viewed.columns, max_cycles);
  }
  return nb::make_tuple(give(std::move(faults.duplicates)), give(std::move(faults.dangling)),
                        give(std::move(faults.dangling_id)), faults.cycles);
}

/// What, begin, end, offsets of dependencies, dependencies and mark_nodes of ThreadNodes.
nb::tuple chain_threads(const std::vector<In<int64_t>>& calls, const std::vector<In<int64_t>>& spans, In<int64_t> marks,
                        int64_t main, int64_t end) {
  const chakra::Activity activity{.start = view(calls.at(0)),
                                  .thread = view(calls.at(1)),
                                  .wait_begin = view(calls.at(2)),
                                  .wait_end = view(calls.at(3)),
                                  .wait_thread = view(calls.at(4)),
                                  .batch = view(calls.at(5)),
                                  .marks = view(marks),
                                  .span_begin = view(spans.at(0)),
                                  .span_end = view(spans.at(1)),
                                  .span_thread = view(spans.at(2)),
                                  .main = main,
                                  .end = end};
  chakra::ThreadNodes nodes = unlocked([&] { return chakra::chain_threads(activity); });
  return nb::make_tuple(give(std::move(nodes.what)), give(std::move(nodes.begin)), give(std::move(nodes.end)),
                        give(std::move(nodes.deps_offset)), give(std::move(nodes.deps)),
                        give(std::move(nodes.mark_nodes)));
}

}  // namespace

void bind_chakra(nb::module_& m) {
  m.def("whole_records", &whole_records, "bytes"_a, "source"_a, "byte"_a);
  m.def("read_nodes", &read_nodes, "records"_a, "source"_a, "byte"_a, "row"_a, "keep_rest"_a);
  m.def("find_dependency_faults", &find_dependency_faults, "trace"_a, "max_cycles"_a);
  m.def("chain_threads", &chain_threads, "calls"_a, "spans"_a, "marks"_a, "main"_a, "end"_a);
  nb::class_<Encoder>(m, "Encoder")
      .def(nb::init<nb::object>(), "trace"_a)
      .def("encode", &Encoder::encode, "begin"_a, "end"_a);
}

}  // namespace hocket::bind
