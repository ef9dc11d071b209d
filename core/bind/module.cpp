#include "bind.hpp"
#include "hocket/error.hpp"

namespace nb = nanobind;

NB_MODULE(_core, m) {
  // Schedules that module globals keep alive until the interpreter ends are not worth a warning to a user.
  nb::set_leak_warnings(false);
  const auto error = nb::exception<hocket::Error>(m, "HocketError", PyExc_Exception);
  nb::exception<hocket::FormatError>(m, "FormatError", error.ptr());
  nb::exception<hocket::TopologyError>(m, "TopologyError", error.ptr());
  nb::exception<hocket::TraceError>(m, "TraceError", error.ptr());
  nb::exception<hocket::ScheduleError>(m, "ScheduleError", error.ptr());
  nb::exception<hocket::Infeasible>(m, "Infeasible", error.ptr());
  nb::exception<hocket::DeadlockError>(m, "DeadlockError", error.ptr());
  nb::exception<hocket::SimulationError>(m, "SimulationError", error.ptr());
  nb::exception<hocket::Stopped>(m, "Stopped", error.ptr());

  const auto subject = [&](const char* name, void (*fill)(nb::module_&)) {
    nb::module_ submodule = m.def_submodule(name);
    fill(submodule);
  };
  subject("topology", hocket::bind::bind_topology);
  subject("chakra", hocket::bind::bind_chakra);
  subject("schedule", hocket::bind::bind_schedule);
  subject("synthesizer", hocket::bind::bind_synthesizer);
  subject("simulator", hocket::bind::bind_simulator);
  subject("astra", hocket::bind::bind_astra);
  subject("translator", hocket::bind::bind_translator);
  subject("device", hocket::bind::bind_device);
  subject("executor", hocket::bind::bind_executor);
  subject("nccl", hocket::bind::bind_nccl);
}
