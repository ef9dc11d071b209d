/// A device of streams, events and graphs that are threads and queues of this process, and a backend of
/// torch.distributed for it; the Python half is late_device.py beside it.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/version.h>

#include "group.hpp"

namespace py = pybind11;

namespace late {
namespace {

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) { library.fallback(torch::CppFunction::makeFromBoxedFunction<&by_cpu>()); }

#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 7
// PyTorch has it since: operations without gradients, c10d's, go on to the device.
TORCH_LIBRARY_IMPL(_, AutogradPrivateUse1, library) { library.fallback(torch::CppFunction::makeFallthrough()); }
#endif

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", &empty);
  library.impl("empty_strided", &empty_strided);
  library.impl("as_strided", &at::native::as_strided_tensorimpl);
  library.impl("view", &at::native::view);
  library.impl("_reshape_alias", &at::native::_reshape_alias);
  library.impl("resize_", &resize_to);
  library.impl("_copy_from", &copy_from);
  library.impl("_copy_from_and_resize", &copy_from_and_resize);
  library.impl("_local_scalar_dense", &scalar_of);
  library.impl("record_stream", &record_stream);
}

/// Does what was captured, in its order, on the current stream.
void replay(const std::shared_ptr<Graph>& graph) {
  for (const Task& task : graph->tasks) current_stream().push(task);
}

}  // namespace

PYBIND11_MODULE(late_device_native, module) {
  at::RegisterPrivateUse1HooksInterface(new Hooks);
  c10::SetAllocator(kLate, &Memory::get());
  const auto unlocked = py::call_guard<py::gil_scoped_release>();

  module.def("new_stream", [] { return Streams::get().add(); });
  module.def("current_stream", [] { return current(); });
  module.def("set_stream", [](c10::StreamId stream) { current() = stream; });
  module.def("synchronize", [] { Guard().synchronizeDevice(0); }, unlocked);
  module.def("synchronize_stream", [](c10::StreamId id) { Streams::get().at(id).synchronize(); }, unlocked);
  module.def("is_idle", [](c10::StreamId id) { return Streams::get().at(id).is_idle(); });
  module.def("is_capturing", [] { return current_stream().capture() != nullptr; });
  module.def("records", [] { return Memory::get().records(); });

  py::class_<Event>(module, "Event")
      .def(py::init<>())
      .def("record", [](Event& event, c10::StreamId id) { event.mark = Streams::get().at(id).record(); })
      .def("block", [](Event& event, c10::StreamId id) { Streams::get().at(id).wait_for(event.mark); })
      .def("query", [](Event& event) { return event.mark == nullptr || event.mark->is_reached(); })
      .def(
          "synchronize",
          [](Event& event) {
            if (event.mark != nullptr) event.mark->wait();
          },
          unlocked)
      .def("elapsed_time", [](Event& begin, Event& end) { return Guard().elapsedTime(&begin, &end, 0); });

  py::class_<Graph, std::shared_ptr<Graph>>(module, "Graph")
      .def_static("begin", [] { return begin_capture(current()); })
      .def("end", [](const std::shared_ptr<Graph>& graph) { end_capture(graph); })
      .def("replay", [](const std::shared_ptr<Graph>& graph) { replay(graph); });

  // The types of torch.distributed, which they derive from, are PyTorch's to make.
  module.def("group", [](c10d::Backend& inner, int rank, int size) -> c10::intrusive_ptr<c10d::Backend> {
    return c10::make_intrusive<Group>(c10::intrusive_ptr<c10d::Backend>::reclaim_copy(&inner), rank, size);
  });
  module.def("hold", [](c10d::Backend& group) { dynamic_cast<Group&>(group).hold(); });
  module.def("descriptions", [](c10d::Backend& group) { return dynamic_cast<Group&>(group).descriptions(); });
  module.def("open", [](c10d::Backend& group) { dynamic_cast<Group&>(group).open(); });
}

}  // namespace late
