/// Wrappers of what starts, ends and waits for requests.

#include <algorithm>
#include <vector>

#include "requests.hpp"

namespace hocket::mpi {
namespace {

std::span<const MPI_Request> handles(int count, const MPI_Request* requests) {
  return {requests, static_cast<size_t>(Recorder::get() == nullptr ? 0 : std::max(count, 0))};
}

/// The caller's statuses, or our own where it wants none.
class KnownStatuses {
 public:
  KnownStatuses(int count, MPI_Status* callers)
      : own_(callers == MPI_STATUSES_IGNORE ? static_cast<size_t>(std::max(count, 0)) : 0),
        statuses_(callers == MPI_STATUSES_IGNORE ? own_.data() : callers) {}
  MPI_Status* get() const { return statuses_; }

 private:
  std::vector<MPI_Status> own_;
  MPI_Status* statuses_;
};

/// Completes the request that MPI chose out of several; `index` is MPI_UNDEFINED when there was none.
void complete_one(Watched& watched, int index, Interval wait, const MPI_Status& status) {
  if (index != MPI_UNDEFINED) watched.complete(index, wait, status);
}

void complete_all(Watched& watched, int count, Interval wait, const MPI_Status* statuses) {
  for (int index = 0; index < count; ++index) watched.complete(index, wait, statuses[index]);
}

/// Statuses are in the order of `indices`.
void complete_some(Watched& watched, int count, const int* indices, Interval wait, const MPI_Status* statuses) {
  for (int k = 0; count != MPI_UNDEFINED && k < count; ++k) watched.complete(indices[k], wait, statuses[k]);
}

// Taken out and put back, for another thread may wait for the request meanwhile.
void issue_started(int count, const MPI_Request* requests) {
  Recorder* const recorder = Recorder::get();
  for (const MPI_Request handle : handles(count, requests)) {
    Requests::Node node = Requests::instance().take(handle);
    if (node.empty()) continue;
    recorder->issue(node.mapped().operations);
    Requests::instance().put_back(std::move(node));
  }
}

}  // namespace

HOCKET_EXPORT int MPI_Start(MPI_Request* request) {
  issue_started(1, request);
  return HOCKET_REAL(MPI_Start)(request);
}

HOCKET_EXPORT int MPI_Startall(int count, MPI_Request requests[]) {
  issue_started(count, requests);
  return HOCKET_REAL(MPI_Startall)(count, requests);
}

HOCKET_EXPORT int MPI_Request_free(MPI_Request* request) {
  if (Recorder::get() != nullptr) Requests::instance().take(*request);
  return HOCKET_REAL(MPI_Request_free)(request);
}

HOCKET_EXPORT int MPI_Wait(MPI_Request* request, MPI_Status* callers) {
  Watched watched(handles(1, request));
  const KnownStatuses status(1, callers);
  const int64_t begin = now_ns();
  const int result = HOCKET_REAL(MPI_Wait)(request, status.get());
  if (result == MPI_SUCCESS) complete_all(watched, 1, {begin, now_ns()}, status.get());
  return result;
}

HOCKET_EXPORT int MPI_Waitall(int count, MPI_Request requests[], MPI_Status callers[]) {
  Watched watched(handles(count, requests));
  const KnownStatuses statuses(count, callers);
  const int64_t begin = now_ns();
  const int result = HOCKET_REAL(MPI_Waitall)(count, requests, statuses.get());
  if (result == MPI_SUCCESS) complete_all(watched, count, {begin, now_ns()}, statuses.get());
  return result;
}

HOCKET_EXPORT int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* callers) {
  Watched watched(handles(count, requests));
  const KnownStatuses status(1, callers);
  const int64_t begin = now_ns();
  const int result = HOCKET_REAL(MPI_Waitany)(count, requests, index, status.get());
  if (result == MPI_SUCCESS) complete_one(watched, *index, {begin, now_ns()}, *status.get());
  return result;
}

HOCKET_EXPORT int MPI_Waitsome(int count, MPI_Request requests[], int* completed, int indices[], MPI_Status callers[]) {
  Watched watched(handles(count, requests));
  const KnownStatuses statuses(count, callers);
  const int64_t begin = now_ns();
  const int result = HOCKET_REAL(MPI_Waitsome)(count, requests, completed, indices, statuses.get());
  if (result == MPI_SUCCESS) complete_some(watched, *completed, indices, {begin, now_ns()}, statuses.get());
  return result;
}

HOCKET_EXPORT int MPI_Test(MPI_Request* request, int* flag, MPI_Status* callers) {
  Watched watched(handles(1, request));
  const KnownStatuses status(1, callers);
  const int64_t begin = now_ns();
  const int result = HOCKET_REAL(MPI_Test)(request, flag, status.get());
  if (result == MPI_SUCCESS && *flag != 0) complete_all(watched, 1, {begin, now_ns()}, status.get());
  return result;
}

HOCKET_EXPORT int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status callers[]) {
  Watched watched(handles(count, requests));
  const KnownStatuses statuses(count, callers);
  const int64_t begin = now_ns();
  const int result = HOCKET_REAL(MPI_Testall)(count, requests, flag, statuses.get());
  if (result == MPI_SUCCESS && *flag != 0) complete_all(watched, count, {begin, now_ns()}, statuses.get());
  return result;
}

HOCKET_EXPORT int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* callers) {
  Watched watched(handles(count, requests));
  const KnownStatuses status(1, callers);
  const int64_t begin = now_ns();
  const int result = HOCKET_REAL(MPI_Testany)(count, requests, index, flag, status.get());
  if (result == MPI_SUCCESS && *flag != 0) complete_one(watched, *index, {begin, now_ns()}, *status.get());
  return result;
}

HOCKET_EXPORT int MPI_Testsome(int count, MPI_Request requests[], int* completed, int indices[], MPI_Status callers[]) {
  Watched watched(handles(count, requests));
  const KnownStatuses statuses(count, callers);
  const int64_t begin = now_ns();
  const int result = HOCKET_REAL(MPI_Testsome)(count, requests, completed, indices, statuses.get());
  if (result == MPI_SUCCESS) complete_some(watched, *completed, indices, {begin, now_ns()}, statuses.get());
  return result;
}

}  // namespace hocket::mpi
