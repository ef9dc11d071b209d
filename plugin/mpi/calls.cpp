#include "calls.hpp"

#include <utility>

#include "requests.hpp"

namespace hocket::mpi {
namespace {

std::vector<Operation> asynchronous(std::vector<Operation> operations) {
  for (Operation& operation : operations) operation.shape.is_async = true;
  return operations;
}

}  // namespace

std::shared_ptr<const Group> group_of(const char* op, MPI_Comm comm, bool is_message) {
  Recorder* const recorder = Recorder::get();
  // What is left out is said in the stream, so that a trace never looks complete that is not.
  if (recorder == nullptr) return nullptr;
  std::shared_ptr<const Group> group = recorder->groups().find(comm);
  if (group == nullptr) {
    recorder->omit(op, "a communicator with processes outside MPI_COMM_WORLD");
  } else if (group->is_inter && !is_message) {
    recorder->omit(op, "a collective between two groups");
    return nullptr;
  }
  return group;
}

std::vector<Operation> collective(const char* op, std::shared_ptr<const Group> group, Shape shape) {
  shape.op = op;
  shape.group = group->id;
  std::vector<Operation> operations;
  operations.push_back({.group = std::move(group), .shape = std::move(shape)});
  return operations;
}

// Issued before it runs: a program that hangs in the call, or is killed there, leaves a line of what it hung in.
BlockingCall::BlockingCall(std::vector<Operation> operations, const MPI_Status* status)
    : recorder_(operations.empty() ? nullptr : Recorder::get()), operations_(std::move(operations)), status_(status) {
  if (recorder_ == nullptr) return;
  recorder_->issue(operations_);
  begin_ = now_ns();
}

int BlockingCall::end(int result) {
  if (recorder_ == nullptr) return result;
  if (result == MPI_SUCCESS) {
    recorder_->complete(operations_, {begin_, now_ns()}, status_);
  } else {
    recorder_->withdraw(operations_);
  }
  return result;
}

NonblockingCall::NonblockingCall(std::vector<Operation> operations) : operations_(asynchronous(std::move(operations))) {
  if (!operations_.empty()) Recorder::get()->issue(operations_);
}

int NonblockingCall::end(int result, const MPI_Request* request) {
  if (operations_.empty()) return result;
  if (result == MPI_SUCCESS) {
    Requests::instance().add(*request, {std::move(operations_)});
  } else {
    Recorder::get()->withdraw(operations_);
  }
  return result;
}

PersistentCall::PersistentCall(std::vector<Operation> operations) : operations_(asynchronous(std::move(operations))) {}

int PersistentCall::end(int result, const MPI_Request* request) {
  if (!operations_.empty() && result == MPI_SUCCESS) Requests::instance().add(*request, {std::move(operations_)});
  return result;
}

}  // namespace hocket::mpi
