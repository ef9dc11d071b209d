/// What requests stand for, from the call that makes them to the one that ends them.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "mpi_library.hpp"
#include "recorder.hpp"

namespace hocket::mpi {

/// What a request completes.
struct Request {
  std::vector<Operation> operations;
  std::shared_ptr<const Group> group = nullptr;  // of the communicator that it makes at `made`
  const MPI_Comm* made = nullptr;
};

/// The requests under way. MPICH gives all small sends one handle, so that several may have the same.
class Requests {
 public:
  using Table = std::unordered_multimap<MPI_Request, Request>;
  using Node = Table::node_type;

  static Requests& instance();

  void add(MPI_Request handle, Request request);

  /// Takes out one of this handle; an empty node when none is known. What MPI then leaves under way goes back by
  /// `put_back`: in between MPI may give the handle to another thread.
  Node take(MPI_Request handle);
  void put_back(Node node);

 private:
  std::mutex mutex_;
  Table table_;
};

/// The requests a call may complete: taken out before the call, for MPI clears the handles that it completes.
class Watched {
 public:
  explicit Watched(std::span<const MPI_Request> handles);
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  /// Puts back what MPI has not freed: requests under way, and persistent ones.
  ~Watched();

  /// The request at `index` is complete; this thread waited for it.
  void complete(int index, Interval wait, const MPI_Status& status);

 private:
  std::span<const MPI_Request> handles_;
  std::vector<Requests::Node> nodes_;
};

}  // namespace hocket::mpi
