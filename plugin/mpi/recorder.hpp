/// The recorder of this process, from MPI_Init to MPI_Finalize.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "../torch/native/segments.hpp"
#include "datatypes.hpp"
#include "groups.hpp"
#include "shape.hpp"

namespace hocket::mpi {

/// Nanoseconds of CLOCK_MONOTONIC: what Python's time.perf_counter_ns shows.
int64_t now_ns();

/// When a thread was in a call.
struct Interval {
  int64_t begin;
  int64_t end;
};

/// One collective or message of a call, described before the call is made.
struct Operation {
  std::shared_ptr<const Group> group;
  Shape shape;
  bool is_message = false;
  bool has_status = false;  // the status of the call's end is that of this receive
  int64_t id = -1;          // in the stream, while under way; -1 when it is not recorded
};

/// Where everything is written. Only `get` and what it leads to may be used before MPI_Init and after MPI_Finalize.
class Recorder {
 public:
  /// The recorder at work; nullptr when there is none.
  static Recorder* get() { return active_.load(std::memory_order_acquire); }

  /// Starts recording if HOCKET_COLLECT_MPI names a folder of jobs; all ranks do so at once, after MPI_Init. What fails
  /// is said on stderr and leaves the program without a recorder.
  static void start();

  /// Stops recording; all ranks do so at once, before MPI_Finalize.
  static void stop();

  const Datatypes& datatypes() const { return datatypes_; }
  Groups& groups() { return groups_; }

  /// Writes that `operations` are issued now, in one call, and gives each its id.
  void issue(std::span<Operation> operations);

  /// Writes that this thread waited for `operations`, now complete or cancelled, and takes back their ids. `status` is
  /// that of the receive among them, if there is one.
  void complete(std::span<Operation> operations, Interval wait, const MPI_Status* status);

  /// Writes that `operations`, issued last, came to nothing: MPI refused them.
  void withdraw(std::span<Operation> operations);

  /// Ends a step of the program.
  void end_step();

  /// Writes, once, why calls of `op` are not recorded.
  void omit(const char* op, const char* reason);

 private:
  explicit Recorder(const std::string& root);

  void write_meta(int rank, int ranks, const std::string& job);
  void write_clock();
  int64_t intern(const Shape& shape);
  int64_t thread_number();
  void write_numbers(char letter, std::initializer_list<int64_t> numbers);

  static std::atomic<Recorder*> active_;

  std::optional<MPI_Comm> comm_;  // a duplicate of MPI_COMM_WORLD for ping-pongs; none where all share a clock
  Datatypes datatypes_;
  Groups groups_;
  int64_t first_step_;
  int64_t end_step_;
  std::mutex mutex_;  // of all below
  int64_t step_ = 0;
  SegmentedStream stream_;
  int64_t described_ = 0;  // the stream's generation that has the descriptions of shapes_
  std::unordered_map<Shape, int64_t, ShapeHash> shapes_;
  int64_t next_shape_ = 0;
  int64_t next_id_ = 0;
  int64_t next_thread_ = 0;
  std::set<std::string> omitted_;
};

}  // namespace hocket::mpi
