#pragma once

#include <stdexcept>
#include <string>

namespace hocket {

/// Root of every error the core raises. `what()` names the input, the place in it and what was expected.
class Error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The bytes or the text are not what the format says.
class FormatError : public Error {
  using Error::Error;
};

/// A topology breaks a rule: disconnected, non-positive, out of range.
class TopologyError : public Error {
  using Error::Error;
};

/// An execution trace is inconsistent: dangling dependency, cycle, ranks that disagree.
class TraceError : public Error {
  using Error::Error;
};

/// A schedule or program breaks a rule of its collective, its topology or its runtime.
class ScheduleError : public Error {
  using Error::Error;
};

/// What was asked for cannot be done on this topology.
class Infeasible : public Error {
  using Error::Error;
};

/// Something waits for itself, or for something that never happens.
class DeadlockError : public Error {
  using Error::Error;
};

/// The simulation cannot go on, or its result is not physical.
class SimulationError : public Error {
  using Error::Error;
};

/// A search ended before it found anything because somebody asked it to (synthesizer/stop.hpp).
class Stopped : public Error {
  using Error::Error;
};

}  // namespace hocket
