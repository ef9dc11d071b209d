/// The compiled hook as a Python module; the Python half is hook.py beside it.

#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <cerrno>

#include "kernels.hpp"

namespace py = pybind11;

namespace hocket {
namespace {

PyObject* original_wait = nullptr;

/// Where the current stream is before it waits for a Work on a device.
Mark mark_arrival(PyObject* work) {
  try {
    const auto issued = Shared::get().recorder.find_work(py::handle(work).cast<c10d::Work*>());
    if (issued && DeviceTimes::can_tell(issued->device)) return Shared::get().times.mark(issued->device);
  } catch (const std::exception&) {  // no Work, of which the original speaks
  }
  return nullptr;
}

/// `Work.wait`: where Python code, torch.distributed's own included, waits.
// The time is taken around the original: whatever the backend does in there is the wait.
PyObject* wait(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  const Py_ssize_t all = count + (names == nullptr ? 0 : PyTuple_GET_SIZE(names));
  constexpr Py_ssize_t kFew = 4;  // a Work waits with a timeout at most; who passes more is told so by PyTorch
  PyObject* few[1 + kFew] = {self};
  std::vector<PyObject*> many;
  PyObject** passed = few;
  if (all > kFew) {
    many.resize(1 + all);
    passed = many.data();
    passed[0] = self;
  }
  std::copy(arguments, arguments + all, passed + 1);
  Recorder& recorder = Shared::get().recorder;
  DeviceTimes& times = Shared::get().times;
  const bool remembers = recorder.remembers_works();
  Mark arrived = remembers ? mark_arrival(self) : nullptr;
  const std::int64_t begin = now_ns();
  PyObject* result = PyObject_Vectorcall(original_wait, passed, count + 1, names);
  if (result == nullptr) return nullptr;
  if (!remembers) return result;
  try {
    const auto* work = py::handle(self).cast<c10d::Work*>();
    if (const auto issued = recorder.take_work(work)) {
      if (arrived != nullptr) times.tell('v', {issued->id}, std::move(arrived), times.mark(issued->device));
      if (issued->any_source == nullptr) {
        recorder.waited(issued->id, begin);
      } else {
        recorder.waited(issued->id, begin, issued->any_source->ranks.at(work->sourceRank()));
      }
    }
  } catch (const std::exception& error) {  // must not stop the job: it becomes a line in the stream
    recorder.write(error_line("wait", error.what()));
  }
  return result;
}

PyMethodDef wait_method = {"wait", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(wait)),
                           METH_FASTCALL | METH_KEYWORDS, nullptr};

void wrap_wait(const py::object& work_type) {
  original_wait = py::object(work_type.attr("wait")).release().ptr();
  auto* type = reinterpret_cast<PyTypeObject*>(work_type.ptr());
  work_type.attr("wait") = py::reinterpret_steal<py::object>(PyDescr_NewMethod(type, &wait_method));
}

Detail::What what_of(const std::string& name) {
  static const std::map<std::string, Detail::What> names = {{"rank", Detail::What::kRank},
                                                            {"splits", Detail::What::kSplits},
                                                            {"number", Detail::What::kNumber},
                                                            {"reduction", Detail::What::kReduction}};
  return names.at(name);
}

/// Read once at installation: no call of a collective asks Python for anything.
Signature signature_of(const py::handle& python) {
  Signature signature{
      .op = python.attr("op").cast<std::string>(),
      .group = python.attr("group").cast<int>(),
      .input = python.attr("input").cast<int>(),
      .output = python.attr("output").cast<int>(),
      .in_parts = python.attr("in_parts").cast<bool>(),
      .is_async = python.attr("is_async").cast<int>(),
      .async_default = python.attr("async_default").cast<bool>(),
      .returns_work = python.attr("returns_work").cast<bool>(),
      .numbered = python.attr("numbered").cast<bool>(),
      .addressed = python.attr("addressed").cast<bool>(),
      .any_source = python.attr("any_source").cast<bool>(),
      .details = {},
  };
  for (const py::handle detail : python.attr("details")) {
    signature.details.push_back({what_of(detail.attr("what").cast<std::string>()),
                                 detail.attr("key").cast<std::string>(), detail.attr("position").cast<int>()});
  }
  return signature;
}

/// Kernels are in force for the life of the process; functions are kept for it too. `unknown` are the operations that
/// cannot be recorded, with the line that says so, `waits` and `sends` those that wait for functional collectives and
/// that send.
void install(const py::list& signatures, const std::map<std::string, std::string>& unknown,
             const std::vector<std::string>& waits, const std::vector<std::string>& sends,
             std::vector<std::string> reductions, const py::function& start, const py::function& find_group,
             const py::object& find_line, bool exact_ends, const py::object& work_type) {
  Shared& shared = Shared::get();
  shared.reductions = std::move(reductions);
  PyObject* const starts = py::object(start).release().ptr();
  PyObject* const finds = py::object(find_group).release().ptr();
  shared.start = [starts] {
    const py::gil_scoped_acquire locked;
    py::handle{starts}();
  };
  shared.find_group = [finds](const std::string& name) {
    const py::gil_scoped_acquire locked;
    const auto [id, ranks] = py::handle{finds}(name).cast<std::pair<std::int64_t, std::vector<std::int64_t>>>();
    auto group = std::make_unique<Group>();
    group->id = id;
    group->ranks = ranks;
    return group;
  };
  if (!find_line.is_none()) {
    PyObject* const lines = py::object(find_line).release().ptr();
    shared.find_line = [lines] {
      const py::gil_scoped_acquire locked;
      return py::handle{lines}().cast<std::string>();
    };
  }
  shared.exact_ends = exact_ends;
  using torch::Library;
  // At BackendSelect, above every backend: all collectives pass here once, whichever library runs them, with Python or
  // without (DDP's reducer, autograd).
  static Library* collectives = new Library(Library::IMPL, "c10d", c10::DispatchKey::BackendSelect, __FILE__, __LINE__);
  static Library* functional =
      new Library(Library::IMPL, "_c10d_functional", c10::DispatchKey::BackendSelect, __FILE__, __LINE__);
  int bit = 0;
  for (const py::handle python : signatures) {
    Signature signature = signature_of(python);
    const std::string op = signature.op;
    auto kernel = std::make_unique<Kernel>(std::move(signature), bit++);
    collectives->impl(op.c_str(), torch::CppFunction::makeFromBoxedFunctor(std::move(kernel)));
  }
  for (const auto& [op, line] : unknown) {
    collectives->impl(op.c_str(), torch::CppFunction::makeFromBoxedFunctor(std::make_unique<UnknownKernel>(line)));
  }
  for (const std::string& op : waits) {
    functional->impl(op.c_str(), torch::CppFunction::makeFromBoxedFunctor(std::make_unique<WaitTensorKernel>()));
  }
  for (const std::string& op : sends) {
    functional->impl(op.c_str(), torch::CppFunction::makeFromBoxedFunctor(std::make_unique<SendKernel>()));
  }
  wrap_wait(work_type);
}

/// The replay of a graph that this thread is in: its device, and an event before it.
std::pair<c10::Device, Mark>& thread_replay() {
  thread_local std::pair<c10::Device, Mark> replay(c10::kCPU, nullptr);
  return replay;
}

/// Takes the numbers of `count` collectives of a group; returns the first of them.
std::int64_t advance(std::int64_t id, std::int64_t count) {
  Shared& shared = Shared::get();
  const std::lock_guard lock(shared.groups_mutex);
  for (const auto& group : shared.all_groups) {
    if (group->id == id) return group->next_sequence.fetch_add(count);
  }
  throw std::out_of_range("a process group that is not known");
}

void open(const std::string& path, bool in_segments, std::int64_t max_bytes) {
  try {
    Shared::get().recorder.open(path, in_segments, max_bytes);
  } catch (const std::system_error& error) {
    errno = error.code().value();
    PyErr_SetFromErrnoWithFilename(PyExc_OSError, path.c_str());
    throw py::error_already_set();
  }
}

}  // namespace

PYBIND11_MODULE(hocket_hook, module) {
  module.def("install", &install);
  module.def("open", &open);
  module.def("select", [](bool recording) { Shared::get().recorder.select(recording); });
  module.def("forget_groups", [] {
    Shared& shared = Shared::get();
    const std::lock_guard lock(shared.groups_mutex);
    shared.groups.clear();
    shared.started = false;  // those that come may be another job's
    ++shared.forgotten;
  });
  module.def("begin_batch", [] { Shared::get().recorder.begin_batch(); });
  module.def("end_batch", [](const py::sequence& works) {
    const py::ssize_t count = py::len(works);
    Shared::get().recorder.end_batch(count == 0 ? nullptr : works[count - 1].cast<c10d::Work*>());
  });
  module.def("tell_device_times", [] { Shared::get().times.open(); });
  module.def(
      "begin_capture",
      [](std::int64_t stream) {
        Shared::get().times.capture(true);
        return Shared::get().captures.begin(thread_number(), stream);
      },
      py::call_guard<py::gil_scoped_release>());
  module.def("end_capture", [](std::int64_t number) {
    Shared& shared = Shared::get();
    const Captured captured = shared.captures.end(number);
    {
      const py::gil_scoped_release unlocked;
      shared.times.capture(shared.captures.any());
    }
    return std::make_tuple(captured.shapes, captured.calls, captured.counts);
  });
  module.def("end_device_times", [] { Shared::get().times.close(); }, py::call_guard<py::gil_scoped_release>());
  module.def("advance", &advance);
  module.def("thread", &thread_number);
  module.def("begin_replay", [](c10::Device device) {
    thread_replay().first = device;
    thread_replay().second = DeviceTimes::can_tell(device) ? Shared::get().times.mark(device) : nullptr;
  });
  module.def("end_replay", [](std::int64_t number) {
    auto& [device, begin] = thread_replay();
    DeviceTimes& times = Shared::get().times;
    if (number >= 0 && begin != nullptr) times.tell('g', {number}, std::move(begin), times.mark(device));
  });
  module.def("begin_section", [] { Shared::get().recorder.begin_section(); });
  module.def("end_section", [](bool returned) { Shared::get().recorder.end_section(returned); });
  module.def("operation_of", [](const c10d::Work& work) -> std::optional<std::int64_t> {
    const auto issued = Shared::get().recorder.find_work(&work);
    return issued ? std::optional(issued->id) : std::nullopt;
  });
  module.def("write_wait",
             [](std::int64_t operation, std::int64_t begin) { Shared::get().recorder.waited(operation, begin); });
  // With Python's lock: threads that hold the recorder's never need Python's.
  module.def("write", [](std::string_view line) { Shared::get().recorder.write(line); });
  module.def("keep", [](std::string_view line) { Shared::get().recorder.keep(line); });
  module.def("forget", [](std::string_view line) { Shared::get().recorder.forget(line); });
  module.def("end_step", [](std::int64_t number, std::int64_t t) { Shared::get().recorder.end_step(number, t); });
  module.def("begin_part",
             [](const std::string& part, std::int64_t step) { Shared::get().recorder.begin_part(part, step); });
  module.def("close", [] { Shared::get().recorder.close(); });
  module.def("abandon", [] { Shared::get().recorder.abandon(); });
}

}  // namespace hocket
