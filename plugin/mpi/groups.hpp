/// Communicators as groups of world ranks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "mpi_library.hpp"

namespace hocket::mpi {

/// A communicator. `peers` are those whom its messages can reach, in its order: other than `ranks` between groups.
struct Group {
  int id;
  std::string name;
  std::vector<int> ranks;
  std::vector<int> peers;
  int rank;   // of this process in it
  int order;  // among groups of the same members, by creation
  bool is_inter;
  mutable int64_t collectives = 0;  // issued so far; the recorder's
  mutable bool is_written = false;  // its line is in the stream; the recorder's

  int size() const { return static_cast<int>(ranks.size()); }
  std::string line() const;
};

/// The groups of the communicators there are, kept with the communicators as attributes.
/// As attributes, because handles are reused: what MPI frees with a communicator goes with it.
class Groups {
 public:
  /// Prepares MPI_COMM_WORLD's; after MPI_Init.
  Groups();

  /// Notes a communicator that `maker` made, so that those of the same members are numbered alike on all ranks.
  std::shared_ptr<const Group> register_comm(MPI_Comm comm, const char* maker);

  /// The group of a duplicate of `comm` to be, numbered now; it belongs to the duplicate once there is one.
  std::shared_ptr<const Group> reserve(MPI_Comm comm, const char* maker) { return number(comm, maker); }

  /// Makes `group` that of a communicator.
  void attach(MPI_Comm comm, std::shared_ptr<const Group> group);

  /// The group of a communicator; nullptr when a member is outside MPI_COMM_WORLD, or the handle is no communicator.
  std::shared_ptr<const Group> find(MPI_Comm comm);

 private:
  std::shared_ptr<Group> number(MPI_Comm comm, const char* maker);
  std::vector<int> world_ranks(MPI_Group group) const;

  int key_ = MPI_KEYVAL_INVALID;
  MPI_Group world_{};
  std::mutex mutex_;
  int next_id_ = 0;
  std::map<std::vector<int>, int> next_order_;  // by sorted members
};

}  // namespace hocket::mpi
