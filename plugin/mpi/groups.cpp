#include "groups.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "json.hpp"

namespace hocket::mpi {
namespace {

using Attribute = std::shared_ptr<const Group>;

/// A duplicate is a group of its own.
int DoNotCopy(MPI_Comm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

int DeleteAttribute(MPI_Comm, int, void* attribute, void*) {
  delete static_cast<Attribute*>(attribute);
  return MPI_SUCCESS;
}

}  // namespace

std::string Group::Line() const {
  JsonLine line("group");
  line.Add("id", id).Add("name", name).Add("description", "").Add("ranks", ranks).Add("rank", rank);
  return line.Add("backend", "mpi").Add("order", order).Finish();
}

Groups::Groups() {
  HOCKET_REAL(MPI_Comm_create_keyval)(DoNotCopy, DeleteAttribute, &key_, nullptr);
  HOCKET_REAL(MPI_Comm_group)(MPI_COMM_WORLD, &world_);
  Register(MPI_COMM_WORLD, "MPI_COMM_WORLD");
  Register(MPI_COMM_SELF, "MPI_COMM_SELF");
}

std::shared_ptr<const Group> Groups::Find(MPI_Comm comm) {
  void* attribute = nullptr;
  int found = 0;
  if (HOCKET_REAL(MPI_Comm_get_attr)(comm, key_, &attribute, &found) != MPI_SUCCESS) return nullptr;
  return found != 0 ? *static_cast<Attribute*>(attribute) : Register(comm, "communicator");
}

std::shared_ptr<const Group> Groups::Register(MPI_Comm comm, const char* maker) {
  const std::shared_ptr<Group> group = Number(comm, maker);
  if (group == nullptr) return nullptr;
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  HOCKET_REAL(MPI_Comm_get_name)(comm, name, &length);
  if (length > 0) group->name = name;
  Attach(comm, group);
  return group;
}

void Groups::Attach(MPI_Comm comm, std::shared_ptr<const Group> group) {
  HOCKET_REAL(MPI_Comm_set_attr)(comm, key_, new Attribute(std::move(group)));
}

std::shared_ptr<Group> Groups::Number(MPI_Comm comm, const char* maker) {
  const auto group = std::make_shared<Group>();
  group->name = maker;
  int is_inter = 0;
  HOCKET_REAL(MPI_Comm_test_inter)(comm, &is_inter);
  HOCKET_REAL(MPI_Comm_rank)(comm, &group->rank);
  group->is_inter = is_inter != 0;
  MPI_Group members;
  HOCKET_REAL(MPI_Comm_group)(comm, &members);
  group->peers = group->ranks = WorldRanks(members);
  HOCKET_REAL(MPI_Group_free)(&members);
  if (group->is_inter) {
    HOCKET_REAL(MPI_Comm_remote_group)(comm, &members);
    group->peers = WorldRanks(members);
    HOCKET_REAL(MPI_Group_free)(&members);
    group->ranks.insert(group->ranks.end(), group->peers.begin(), group->peers.end());
  }
  if (std::ranges::count(group->ranks, MPI_UNDEFINED) > 0) return nullptr;
  std::vector<int> sorted = group->ranks;
  std::ranges::sort(sorted);
  const std::lock_guard lock(mutex_);
  group->id = next_id_++;
  group->order = next_order_[sorted]++;
  return group;
}

std::vector<int> Groups::WorldRanks(MPI_Group group) const {
  int size = 0;
  HOCKET_REAL(MPI_Group_size)(group, &size);
  std::vector<int> own(static_cast<size_t>(size)), world(own.size());
  std::iota(own.begin(), own.end(), 0);
  HOCKET_REAL(MPI_Group_translate_ranks)(group, size, own.data(), world_, world.data());
  return world;
}

}  // namespace hocket::mpi
