#include "requests.hpp"

#include <utility>

namespace hocket::mpi {

Requests& Requests::instance() {
  static auto* const requests = new Requests;  // for good: threads may be in it until the process ends
  return *requests;
}

void Requests::add(MPI_Request handle, Request request) {
  const std::lock_guard lock(mutex_);
  table_.emplace(handle, std::move(request));
}

Requests::Node Requests::take(MPI_Request handle) {
  const std::lock_guard lock(mutex_);
  const auto found = table_.find(handle);
  return found == table_.end() ? Node() : table_.extract(found);
}

void Requests::put_back(Node node) {
  const std::lock_guard lock(mutex_);
  table_.insert(std::move(node));
}

Watched::Watched(std::span<const MPI_Request> handles) : handles_(handles) {
  nodes_.reserve(handles.size());
  for (const MPI_Request handle : handles) nodes_.push_back(Requests::instance().take(handle));
}

Watched::~Watched() {
  for (size_t k = 0; k < nodes_.size(); ++k) {
    // MPI set the handle of a completed request to MPI_REQUEST_NULL; one that is as before is still under way, or
    // persistent.
    if (!nodes_[k].empty() && nodes_[k].key() == handles_[k]) Requests::instance().put_back(std::move(nodes_[k]));
  }
}

void Watched::complete(int index, Interval wait, const MPI_Status& status) {
  Recorder* const recorder = Recorder::get();
  if (recorder == nullptr || nodes_[static_cast<size_t>(index)].empty()) return;
  Request& request = nodes_[static_cast<size_t>(index)].mapped();
  recorder->complete(request.operations, wait, &status);
  if (request.made != nullptr) recorder->groups().attach(*request.made, std::move(request.group));
}

}  // namespace hocket::mpi
