/// How a wrapped function is recorded: described, issued, run and completed.
#pragma once

#include <memory>
#include <vector>

#include "mpi_library.hpp"
#include "recorder.hpp"

namespace hocket::mpi {

/// The group of a call to be recorded; nullptr when it is not, which is said in the stream where it is not the user's
/// wish.
std::shared_ptr<const Group> group_of(const char* op, MPI_Comm comm, bool is_message);

/// The one operation of a collective call.
std::vector<Operation> collective(const char* op, std::shared_ptr<const Group> group, Shape shape);

/// A call that returns when its operations are complete: made before it is run, ended with its result.
class BlockingCall {
 public:
  /// `status` is that of the receive among the operations, if there is one.
  explicit BlockingCall(std::vector<Operation> operations, const MPI_Status* status = nullptr);
  BlockingCall(const BlockingCall&) = delete;
  BlockingCall& operator=(const BlockingCall&) = delete;

  /// Passes the result on.
  int end(int result);

 private:
  Recorder* recorder_;
  std::vector<Operation> operations_;
  const MPI_Status* status_;
  int64_t begin_ = 0;
};

/// A call that starts its operations and returns a request: made before it is run, ended with its result.
/// Its operations are complete only when some later call completes the request: `Requests` keeps them until then.
class NonblockingCall {
 public:
  explicit NonblockingCall(std::vector<Operation> operations);
  NonblockingCall(const NonblockingCall&) = delete;
  NonblockingCall& operator=(const NonblockingCall&) = delete;

  /// Passes the result on.
  int end(int result, const MPI_Request* request);

 private:
  std::vector<Operation> operations_;
};

/// A call that makes a persistent request: what it will do whenever it is started.
/// Nothing is issued yet: MPI_Start does, any number of times, with the same operations.
class PersistentCall {
 public:
  explicit PersistentCall(std::vector<Operation> operations);
  PersistentCall(const PersistentCall&) = delete;
  PersistentCall& operator=(const PersistentCall&) = delete;

  /// Passes the result on.
  int end(int result, const MPI_Request* request);

 private:
  std::vector<Operation> operations_;
};

}  // namespace hocket::mpi

// Names of functions for one type of counts (both_counts.hpp).
#define HOCKET_PASTE(a, b) a##b
#define HOCKET_JOIN(a, b) HOCKET_PASTE(a, b)
#define HOCKET_QUOTE(a) #a
#define HOCKET_TEXT(a) HOCKET_QUOTE(a)
#define HOCKET_LIST(...) __VA_ARGS__
