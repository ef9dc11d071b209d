/// How a wrapped function is recorded: described, issued, run and completed.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "mpi_library.hpp"
#include "recorder.hpp"
#include "requests.hpp"

namespace hocket::mpi {

/// The group of a call to be recorded; nullptr when it is not, which is said in the stream.
inline std::shared_ptr<const Group> GroupOf(Recorder* recorder, const char* op, MPI_Comm comm, bool is_message) {
  if (recorder == nullptr) return nullptr;
  std::shared_ptr<const Group> group = recorder->groups().Find(comm);
  if (group == nullptr) {
    recorder->Omit(op, "a communicator with processes outside MPI_COMM_WORLD");
  } else if (group->is_inter && !is_message) {
    recorder->Omit(op, "a collective between two groups");
    return nullptr;
  }
  return group;
}

/// The collective `describe(datatypes, group)` as the operations of a call: one, or none when it is not recorded.
template <class Describe>
std::vector<Operation> Collective(const char* op, MPI_Comm comm, Describe describe) {
  std::vector<Operation> operations;
  Recorder* const recorder = Recorder::Get();
  std::shared_ptr<const Group> group = GroupOf(recorder, op, comm, false);
  if (group == nullptr) return operations;
  Operation& operation = operations.emplace_back();
  operation.shape = describe(recorder->datatypes(), *group);
  operation.shape.op = op;
  operation.shape.group = group->id;
  operation.group = std::move(group);
  return operations;
}

/// Records a call that returns when its operations are complete. `status` is that of a receive among them.
template <class Call>
int Blocking(std::vector<Operation> operations, const MPI_Status* status, Call call) {
  Recorder* const recorder = Recorder::Get();
  if (recorder == nullptr || operations.empty()) return call();
  recorder->Issue(operations);
  const int64_t begin = Now();
  const int result = call();
  if (result == MPI_SUCCESS) recorder->Complete(operations, {begin, Now()}, status);
  return result;
}

/// Records a call that starts its operations and returns a request.
template <class Call>
int Nonblocking(std::vector<Operation> operations, const MPI_Request* request, Call call) {
  Recorder* const recorder = Recorder::Get();
  if (recorder == nullptr || operations.empty()) return call();
  for (Operation& operation : operations) operation.shape.is_async = true;
  recorder->Issue(operations);
  const int result = call();
  if (result == MPI_SUCCESS) Requests::Instance().Add(*request, {std::move(operations)});
  return result;
}

/// Notes what a persistent request does whenever it is started.
template <class Call>
int Persistent(std::vector<Operation> operations, const MPI_Request* request, Call call) {
  const int result = call();
  if (result == MPI_SUCCESS && !operations.empty()) {
    for (Operation& operation : operations) operation.shape.is_async = true;
    Requests::Instance().Add(*request, {std::move(operations), true});
  }
  return result;
}

}  // namespace hocket::mpi

// Functions exist for counts of type int and, since MPI 4, with the ending _c for counts of type MPI_Count. A file of
// their wrappers is included once for each, under these names.
#define HOCKET_JOIN_(a, b) a##b
#define HOCKET_JOIN(a, b) HOCKET_JOIN_(a, b)
#define HOCKET_TEXT_(a) #a
#define HOCKET_TEXT(a) HOCKET_TEXT_(a)
#define HOCKET_LIST(...) __VA_ARGS__
