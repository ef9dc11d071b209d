#include "requests.hpp"

#include <utility>

namespace hocket::mpi {

Requests& Requests::Instance() {
  static auto* const requests = new Requests;  // for good: threads may be in it until the process ends
  return *requests;
}

void Requests::Add(MPI_Request handle, Request request) {
  const std::lock_guard lock(mutex_);
  table_.emplace(handle, std::move(request));
}

Requests::Node Requests::Take(MPI_Request handle) {
  const std::lock_guard lock(mutex_);
  const auto found = table_.find(handle);
  return found == table_.end() ? Node() : table_.extract(found);
}

void Requests::Return(Node node) {
  const std::lock_guard lock(mutex_);
  table_.insert(std::move(node));
}

Watched::Watched(std::span<const MPI_Request> handles) {
  nodes_.reserve(handles.size());
  for (const MPI_Request handle : handles) nodes_.push_back(Requests::Instance().Take(handle));
}

Watched::~Watched() {
  for (Requests::Node& node : nodes_) {
    if (!node.empty()) Requests::Instance().Return(std::move(node));
  }
}

void Watched::Complete(int index, Interval wait, const MPI_Status& status) {
  Requests::Node& node = nodes_[static_cast<size_t>(index)];
  Recorder* const recorder = Recorder::Get();
  if (node.empty() || recorder == nullptr) return;
  recorder->Complete(node.mapped().operations, wait, &status);
  if (!node.mapped().is_persistent) node = Requests::Node();
}

}  // namespace hocket::mpi
