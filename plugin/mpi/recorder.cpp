#include "recorder.hpp"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <limits>
#include <utility>

#include "clock.hpp"
#include "job_folder.hpp"
#include "json.hpp"

namespace hocket::mpi {
namespace {

constexpr int kStreamFormat = 3;         // recording/stream.py
constexpr size_t kMostShapes = 1 << 12;  // remembered: memory must not grow with a program that never repeats itself

int64_t nanoseconds(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int64_t number(const char* name, int64_t otherwise) {
  const std::string text = variable(name);
  return text.empty() ? otherwise : std::atoll(text.c_str());
}

/// Whether the message of a status, which a blocking send does not have, was cancelled.
bool is_cancelled(const MPI_Status* status) {
  int is_cancelled = 0;
  if (status != nullptr) HOCKET_REAL(MPI_Test_cancelled)(status, &is_cancelled);
  return is_cancelled != 0;
}

/// Name of the program; of what it runs where it is an interpreter.
std::string script_name() {
  std::ifstream file("/proc/self/cmdline");
  std::string script;
  for (std::string argument; std::getline(file, argument, '\0');) {
    if (argument.starts_with('-')) continue;
    script = std::filesystem::path(argument).filename();
    if (!script.starts_with("python")) break;
  }
  return script;
}

}  // namespace

int64_t now_ns() { return nanoseconds(CLOCK_MONOTONIC); }

std::atomic<Recorder*> Recorder::active_ = nullptr;

void Recorder::start() {
  const std::string root = variable("HOCKET_COLLECT_MPI");
  if (root.empty()) return;
  auto* const recorder = new Recorder(root);  // for good: threads may be in it until the process ends
  active_.store(recorder, std::memory_order_release);
  pthread_atfork(nullptr, nullptr, [] { active_.store(nullptr); });  // a child must not write between our lines
}

void Recorder::stop() {
  Recorder* const recorder = get();
  if (recorder == nullptr) return;
  recorder->write_clock();
  active_.store(nullptr);
  const std::lock_guard lock(recorder->mutex_);
  JsonLine line("end");
  line.add("t", now_ns()).add("epoch_ns", nanoseconds(CLOCK_REALTIME)).add("ok", true);
  recorder->stream_.append(line.finish());
  recorder->stream_.close();
}

// The environment says what is recorded, as the launcher's options cannot reach a preloaded library in another way.
Recorder::Recorder(const std::string& root)
    : first_step_(number("HOCKET_COLLECT_SKIP_STEPS", 0)),
      end_step_(first_step_ + number("HOCKET_COLLECT_STEPS", std::numeric_limits<int64_t>::max() - first_step_)) {
  int rank = 0, ranks = 0;
  HOCKET_REAL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
  HOCKET_REAL(MPI_Comm_size)(MPI_COMM_WORLD, &ranks);
  if (!is_one_machine(ranks)) HOCKET_REAL(MPI_Comm_dup)(MPI_COMM_WORLD, &comm_.emplace());
  try {
    const std::filesystem::path job = job_folder(root, script_name());
    const int64_t max_bytes = number("HOCKET_COLLECT_MAX_BYTES", 0);
    stream_.open(job / "stream" / ("rank" + std::to_string(rank) + ".stream"), max_bytes > 0, max_bytes);
    write_meta(rank, ranks, job.filename());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hocket: %s: rank %d is not recorded\n", error.what(), rank);
  }
  write_clock();
}

void Recorder::write_meta(int rank, int ranks, const std::string& job) {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  HOCKET_REAL(MPI_Get_library_version)(version, &length);
  const std::string first_line = std::string(version).substr(0, std::string(version).find('\n'));
  JsonLine line("meta");
  line.add("format", kStreamFormat).add("rank", rank).add("world", ranks).add("job", job).add("boot", boot);
  line.add("pid", getpid()).add("mpi", first_line).add("script", script_name());
  line.add("epoch_ns", nanoseconds(CLOCK_REALTIME)).add("perf_ns", now_ns()).add("step", 0).add("hook", "pmpi");
  stream_.keep(line.finish());
}

// At the beginning and at the end: two offsets show how clocks drift, and the merge of traces draws a line between
// them.
void Recorder::write_clock() {
  if (!comm_) return;
  const Offset offset = measure_offset(*comm_);
  const std::lock_guard lock(mutex_);
  JsonLine line("clock");
  line.add("t", offset.t).add("offset", offset.offset).add("round_trip", offset.round_trip);
  stream_.keep(line.finish());
}

void Recorder::issue(std::span<Operation> operations) {
  const std::lock_guard lock(mutex_);
  const bool is_selected = !stream_.dropping() && first_step_ <= step_ && step_ < end_step_;
  for (Operation& operation : operations) {
    // Counted also where nothing is recorded, so that the numbers of calls agree between ranks that begin at other
    // steps.
    const int64_t sequence = operation.is_message ? 0 : operation.group->collectives++;
    if (!is_selected) continue;
    if (!std::exchange(operation.group->is_written, true)) stream_.keep(operation.group->line());
    stream_.make_room();
    const int64_t shape = intern(operation.shape);
    operation.id = next_id_++;
    write_numbers('c', {operation.id, shape, sequence, now_ns(), thread_number()});
  }
}

void Recorder::complete(std::span<Operation> operations, Interval wait, const MPI_Status* status) {
  const std::lock_guard lock(mutex_);
  for (Operation& operation : operations) {
    if (operation.id < 0) continue;
    if (operation.is_message && operations.size() == 1 && is_cancelled(status)) {
      write_numbers('x', {std::exchange(operation.id, -1)});
      continue;
    }
    if (operation.has_status && status->MPI_SOURCE >= 0) {
      Shape received = operation.shape;
      // A receive takes up to so many bytes from maybe anyone: only now is known what came and from whom.
      received.peer = operation.group->peers[static_cast<size_t>(status->MPI_SOURCE)];
      received.tag = status->MPI_TAG;
      received.output_bytes = received_bytes(*status);
      if (received != operation.shape) write_numbers('s', {operation.id, intern(received)});
    }
    write_numbers('w', {operation.id, wait.begin, wait.end - wait.begin, thread_number()});
    operation.id = -1;
  }
}

void Recorder::withdraw(std::span<Operation> operations) {
  const std::lock_guard lock(mutex_);
  for (Operation& operation : operations) {
    // As if it had never been called; the error goes to the program, which may try again.
    if (!operation.is_message) --operation.group->collectives;
    if (operation.id >= 0) write_numbers('x', {std::exchange(operation.id, -1)});
  }
}

void Recorder::end_step() {
  const std::lock_guard lock(mutex_);
  stream_.end_step(step_, now_ns());
  ++step_;
}

void Recorder::omit(const char* op, const char* reason) {
  const std::lock_guard lock(mutex_);
  if (omitted_.insert(op).second) {
    stream_.keep(JsonLine("error").add("op", op).add("message", reason).finish());
  }
}

int64_t Recorder::intern(const Shape& shape) {
  const bool is_other_segment = std::exchange(described_, stream_.generation()) != stream_.generation();
  if (is_other_segment || shapes_.size() >= kMostShapes) shapes_.clear();
  const auto [found, is_new] = shapes_.try_emplace(shape, next_shape_);
  if (is_new) stream_.append(shape.line(next_shape_++));
  return found->second;
}

void Recorder::write_numbers(char letter, std::initializer_list<int64_t> numbers) {
  // Formatted without streams or locale: this line is most of what recording a call costs.
  constexpr size_t kDigits = 20;
  char line[8 * (kDigits + 1)];
  char* end = line;
  *end++ = letter;
  for (const int64_t number : numbers) {
    *end++ = ' ';
    end = std::to_chars(end, end + kDigits, number).ptr;
  }
  *end++ = '\n';
  stream_.append({line, end});
}

int64_t Recorder::thread_number() {
  thread_local const int64_t number = next_thread_++;
  return number;
}

}  // namespace hocket::mpi
