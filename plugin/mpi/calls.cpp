#include "calls.hpp"

#include <utility>

#include "requests.hpp"

namespace hocket::mpi {
namespace {

std::vector<Operation> Asynchronous(std::vector<Operation> operations) {
  for (Operation& operation : operations) operation.shape.is_async = true;
  return operations;
}

}  // namespace

std::shared_ptr<const Group> GroupOf(const char* op, MPI_Comm comm, bool is_message) {
  Recorder* const recorder = Recorder::Get();
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

std::vector<Operation> Collective(const char* op, std::shared_ptr<const Group> group, Shape shape) {
  shape.op = op;
  shape.group = group->id;
  std::vector<Operation> operations;
  operations.push_back({.group = std::move(group), .shape = std::move(shape)});
  return operations;
}

BlockingCall::BlockingCall(std::vector<Operation> operations, const MPI_Status* status)
    : recorder_(operations.empty() ? nullptr : Recorder::Get()), operations_(std::move(operations)), status_(status) {
  if (recorder_ == nullptr) return;
  recorder_->Issue(operations_);
  begin_ = Now();
}

int BlockingCall::End(int result) {
  if (recorder_ == nullptr) return result;
  if (result == MPI_SUCCESS) {
    recorder_->Complete(operations_, {begin_, Now()}, status_);
  } else {
    recorder_->Withdraw(operations_);
  }
  return result;
}

NonblockingCall::NonblockingCall(std::vector<Operation> operations) : operations_(Asynchronous(std::move(operations))) {
  if (!operations_.empty()) Recorder::Get()->Issue(operations_);
}

int NonblockingCall::End(int result, const MPI_Request* request) {
  if (operations_.empty()) return result;
  if (result == MPI_SUCCESS) {
    Requests::Instance().Add(*request, {std::move(operations_)});
  } else {
    Recorder::Get()->Withdraw(operations_);
  }
  return result;
}

PersistentCall::PersistentCall(std::vector<Operation> operations) : operations_(Asynchronous(std::move(operations))) {}

int PersistentCall::End(int result, const MPI_Request* request) {
  if (!operations_.empty() && result == MPI_SUCCESS) Requests::Instance().Add(*request, {std::move(operations_)});
  return result;
}

}  // namespace hocket::mpi
