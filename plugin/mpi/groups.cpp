#include "groups.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "json.hpp"

namespace hocket::mpi {
namespace {

using Attribute = std::shared_ptr<const Group>;

/// A duplicate is a group of its own.
int do_not_copy(MPI_Comm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

int delete_attribute(MPI_Comm, int, void* attribute, void*) {
  delete static_cast<Attribute*>(attribute);
  return MPI_SUCCESS;
}

}  // namespace

std::string Group::line() const {
  JsonLine line("group");
  line.add("id", id).add("name", name).add("description", "").add("ranks", ranks).add("rank", rank);
  return line.add("backend", "mpi").add("order", order).finish();
}

Groups::Groups() {
  HOCKET_REAL(MPI_Comm_create_keyval)(do_not_copy, delete_attribute, &key_, nullptr);
  HOCKET_REAL(MPI_Comm_group)(MPI_COMM_WORLD, &world_);
  register_comm(MPI_COMM_WORLD, "MPI_COMM_WORLD");
  register_comm(MPI_COMM_SELF, "MPI_COMM_SELF");
}

std::shared_ptr<const Group> Groups::find(MPI_Comm comm) {
  void* attribute = nullptr;
  int found = 0;
  if (HOCKET_REAL(MPI_Comm_get_attr)(comm, key_, &attribute, &found) != MPI_SUCCESS) return nullptr;
  return found != 0 ? *static_cast<Attribute*>(attribute) : register_comm(comm, "communicator");
}

std::shared_ptr<const Group> Groups::register_comm(MPI_Comm comm, const char* maker) {
  const std::shared_ptr<Group> group = number(comm, maker);
  if (group == nullptr) return nullptr;
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  HOCKET_REAL(MPI_Comm_get_name)(comm, name, &length);
  if (length > 0) group->name = name;
  attach(comm, group);
  return group;
}

void Groups::attach(MPI_Comm comm, std::shared_ptr<const Group> group) {
  HOCKET_REAL(MPI_Comm_set_attr)(comm, key_, new Attribute(std::move(group)));
}

// Groups of the same members get their place by order of creation, which is the same at all of them; the number `id` is
// this rank's own.
std::shared_ptr<Group> Groups::number(MPI_Comm comm, const char* maker) {
  const auto group = std::make_shared<Group>();
  group->name = maker;
  int is_inter = 0;
  HOCKET_REAL(MPI_Comm_test_inter)(comm, &is_inter);
  HOCKET_REAL(MPI_Comm_rank)(comm, &group->rank);
  group->is_inter = is_inter != 0;
  MPI_Group members;
  HOCKET_REAL(MPI_Comm_group)(comm, &members);
  group->peers = group->ranks = world_ranks(members);
  HOCKET_REAL(MPI_Group_free)(&members);
  if (group->is_inter) {
    HOCKET_REAL(MPI_Comm_remote_group)(comm, &members);
    group->peers = world_ranks(members);
    HOCKET_REAL(MPI_Group_free)(&members);
    group->ranks.insert(group->ranks.end(), group->peers.begin(), group->peers.end());
  }
  // A member that MPI_COMM_WORLD does not know (spawned, or joined later) has no rank in a trace.
  if (std::ranges::count(group->ranks, MPI_UNDEFINED) > 0) return nullptr;
  std::vector<int> sorted = group->ranks;
  std::ranges::sort(sorted);
  const std::lock_guard lock(mutex_);
  group->id = next_id_++;
  group->order = next_order_[sorted]++;
  return group;
}

std::vector<int> Groups::world_ranks(MPI_Group group) const {
  int size = 0;
  HOCKET_REAL(MPI_Group_size)(group, &size);
  std::vector<int> own(static_cast<size_t>(size)), world(own.size());
  std::iota(own.begin(), own.end(), 0);
  HOCKET_REAL(MPI_Group_translate_ranks)(group, size, own.data(), world_, world.data());
  return world;
}

}  // namespace hocket::mpi
