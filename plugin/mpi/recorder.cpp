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
#include "json.hpp"

namespace hocket::mpi {
namespace {

constexpr int kStreamFormat = 2;         // recording/stream.py
constexpr size_t kMostShapes = 1 << 12;  // remembered: memory must not grow with a program that never repeats itself

int64_t Nanoseconds(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int64_t Number(const char* name, int64_t otherwise) {
  const std::string text = Variable(name);
  return text.empty() ? otherwise : std::atoll(text.c_str());
}

/// Whether the message of a status, which a blocking send does not have, was cancelled.
bool IsCancelled(const MPI_Status* status) {
  int is_cancelled = 0;
  if (status != nullptr) HOCKET_REAL(MPI_Test_cancelled)(status, &is_cancelled);
  return is_cancelled != 0;
}

/// What tells this launch from others into the same folder.
std::string Job() {
  std::string job;
  for (const char* name : {"HOCKET_COLLECT_JOB", "PMI_JOBID", "PMIX_NAMESPACE", "SLURM_JOB_ID", "SLURM_STEP_ID"}) {
    job += Variable(name) + ":";
  }
  return job;
}

/// Name of the program; of what it runs where it is an interpreter.
std::string Script() {
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

int64_t Now() { return Nanoseconds(CLOCK_MONOTONIC); }

std::atomic<Recorder*> Recorder::active_ = nullptr;

void Recorder::Start() {
  const std::string folder = Variable("HOCKET_COLLECT_MPI");
  if (folder.empty()) return;
  auto* const recorder = new Recorder(folder);  // for good: threads may be in it until the process ends
  active_.store(recorder, std::memory_order_release);
  pthread_atfork(nullptr, nullptr, [] { active_.store(nullptr); });  // a child must not write between our lines
}

void Recorder::Stop() {
  Recorder* const recorder = Get();
  if (recorder == nullptr) return;
  recorder->WriteClock();
  active_.store(nullptr);
  const std::lock_guard lock(recorder->mutex_);
  recorder->stream_.Append(JsonLine("end").Add("t", Now()).Add("ok", true).Finish());
  recorder->stream_.Close();
}

Recorder::Recorder(const std::string& folder)
    : first_step_(Number("HOCKET_COLLECT_SKIP_STEPS", 0)),
      end_step_(first_step_ + Number("HOCKET_COLLECT_STEPS", std::numeric_limits<int64_t>::max() - first_step_)) {
  int rank = 0, ranks = 0;
  HOCKET_REAL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
  HOCKET_REAL(MPI_Comm_size)(MPI_COMM_WORLD, &ranks);
  if (!IsOneMachine(ranks)) HOCKET_REAL(MPI_Comm_dup)(MPI_COMM_WORLD, &comm_.emplace());
  try {
    const std::filesystem::path streams = std::filesystem::path(folder) / "stream";
    std::filesystem::create_directories(streams);
    stream_.Open(streams / ("rank" + std::to_string(rank) + ".stream"));
    WriteMeta(rank, ranks);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hocket: %s: rank %d is not recorded\n", error.what(), rank);
  }
  WriteClock();
}

void Recorder::WriteMeta(int rank, int ranks) {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  HOCKET_REAL(MPI_Get_library_version)(version, &length);
  const std::string first_line = std::string(version).substr(0, std::string(version).find('\n'));
  JsonLine line("meta");
  line.Add("format", kStreamFormat).Add("rank", rank).Add("world", ranks).Add("job", Job()).Add("boot", boot);
  line.Add("pid", getpid()).Add("mpi", first_line).Add("script", Script());
  line.Add("epoch_ns", Nanoseconds(CLOCK_REALTIME)).Add("perf_ns", Now()).Add("step", 0).Add("hook", "pmpi");
  stream_.Append(line.Finish());
}

void Recorder::WriteClock() {
  if (!comm_) return;
  const Offset offset = MeasureOffset(*comm_);
  const std::lock_guard lock(mutex_);
  JsonLine line("clock");
  line.Add("t", offset.t).Add("offset", offset.offset).Add("round_trip", offset.round_trip);
  stream_.Append(line.Finish());
}

void Recorder::Issue(std::span<Operation> operations) {
  const std::lock_guard lock(mutex_);
  const bool is_selected = !stream_.dropping() && first_step_ <= step_ && step_ < end_step_;
  for (Operation& operation : operations) {
    const int64_t sequence = operation.is_message ? 0 : operation.group->collectives++;
    if (!is_selected) continue;
    if (!std::exchange(operation.group->is_written, true)) stream_.Append(operation.group->Line());
    const int64_t shape = Intern(operation.shape);
    operation.id = next_id_++;
    WriteNumbers('c', {operation.id, shape, sequence, Now(), ThreadNumber()});
  }
}

void Recorder::Complete(std::span<Operation> operations, Interval wait, const MPI_Status* status) {
  const std::lock_guard lock(mutex_);
  for (Operation& operation : operations) {
    if (operation.id < 0) continue;
    if (operation.is_message && operations.size() == 1 && IsCancelled(status)) {
      WriteNumbers('x', {std::exchange(operation.id, -1)});
      continue;
    }
    if (operation.has_status && status->MPI_SOURCE >= 0) {
      Shape received = operation.shape;
      received.peer = operation.group->peers[static_cast<size_t>(status->MPI_SOURCE)];
      received.tag = status->MPI_TAG;
      received.output_bytes = ReceivedBytes(*status);
      if (received != operation.shape) WriteNumbers('s', {operation.id, Intern(received)});
    }
    WriteNumbers('w', {operation.id, wait.begin, wait.end - wait.begin, ThreadNumber()});
    operation.id = -1;
  }
}

void Recorder::Withdraw(std::span<Operation> operations) {
  const std::lock_guard lock(mutex_);
  for (Operation& operation : operations) {
    if (!operation.is_message) --operation.group->collectives;
    if (operation.id >= 0) WriteNumbers('x', {std::exchange(operation.id, -1)});
  }
}

void Recorder::EndStep() {
  const std::lock_guard lock(mutex_);
  stream_.Append(JsonLine("step").Add("n", step_).Add("t", Now()).Finish());
  ++step_;
}

void Recorder::Omit(const char* op, const char* reason) {
  const std::lock_guard lock(mutex_);
  if (omitted_.insert(op).second) {
    stream_.Append(JsonLine("error").Add("op", op).Add("message", reason).Finish());
  }
}

int64_t Recorder::Intern(const Shape& shape) {
  if (shapes_.size() >= kMostShapes) shapes_.clear();
  const auto [found, is_new] = shapes_.try_emplace(shape, next_shape_);
  if (is_new) stream_.Append(shape.Line(next_shape_++));
  return found->second;
}

void Recorder::WriteNumbers(char letter, std::initializer_list<int64_t> numbers) {
  constexpr size_t kDigits = 20;
  char line[8 * (kDigits + 1)];
  char* end = line;
  *end++ = letter;
  for (const int64_t number : numbers) {
    *end++ = ' ';
    end = std::to_chars(end, end + kDigits, number).ptr;
  }
  *end++ = '\n';
  stream_.Append({line, end});
}

int64_t Recorder::ThreadNumber() {
  thread_local const int64_t number = next_thread_++;
  return number;
}

}  // namespace hocket::mpi
