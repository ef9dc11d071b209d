#include <string_view>

#include "bind.hpp"
#include "hocket/chakra/dependencies.hpp"
#include "hocket/chakra/reader.hpp"
#include "hocket/chakra/writer.hpp"
#include "hocket/error.hpp"

namespace hocket::bind {
namespace {

using chakra::Columns;
using chakra::TraceView;

nb::object decode(std::span<const std::string_view> strings, const In<uint8_t>& file, const std::string& source) {
  const auto decoded = nb::steal(PyTuple_New(std::ssize(strings)));
  for (Py_ssize_t number = 0; number < std::ssize(strings); number++) {
    const std::string_view text = strings[number];
    PyObject* object = PyUnicode_DecodeUTF8(text.data(), std::ssize(text), nullptr);
    if (object == nullptr) {
      PyErr_Clear();
      const auto offset = reinterpret_cast<const uint8_t*>(text.data()) - file.data();
      throw FormatError(source + ": byte " + std::to_string(offset) + ": a name is not UTF-8");
    }
    PyTuple_SetItem(decoded.ptr(), number, object);
  }
  return decoded;
}

/// The columns by name, the tuple of strings, and the bytes of the GlobalMetadata message.
nb::tuple read(In<uint8_t> file, const std::string& source) {
  chakra::TraceFile trace;
  {
    nb::gil_scoped_release unlocked;
    trace = chakra::read(view(file), source);
  }
  nb::dict columns;
  const auto hand_over = [&](const char* name, auto& column) { columns[name] = give(std::move(column)); };
  trace.columns.each_attribute(hand_over);
  trace.columns.each_dependency(hand_over);
  return nb::make_tuple(columns, decode(trace.strings, file, source),
                        nb::bytes(trace.metadata.data(), trace.metadata.size()));
}

/// Views a `hocket.chakra.Trace` without copying it: valid as long as the object lives.
TraceView view_trace(nb::handle trace) {
  TraceView view;
  const auto look = [&]<typename T>(const char* name, std::span<const T>& column) {
    In<T> array;
    if (!nb::try_cast(trace.attr(name), array, false)) {
      throw TraceError(std::string("column ") + name + " is not a contiguous array of the type its contract says");
    }
    column = bind::view(array);
  };
  view.columns.each_attribute(look);
  view.columns.each_dependency(look);
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

}  // namespace

void bind_chakra(nb::module_& m) {
  m.def("read", &read, "file"_a, "source"_a);
  m.def("find_dependency_faults", &find_dependency_faults, "trace"_a, "max_cycles"_a);
  nb::class_<Encoder>(m, "Encoder")
      .def(nb::init<nb::object>(), "trace"_a)
      .def("encode", &Encoder::encode, "begin"_a, "end"_a);
}

}  // namespace hocket::bind
