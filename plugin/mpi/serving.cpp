#include "serving.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <limits>
#include <memory>

#include "json.hpp"

namespace hocket::mpi {
namespace {

// Bytes of a call whose messages can be counted, padding included.
// Half of what an int holds before MPI 4: padding may add to a call's bytes.
constexpr int64_t kLargest =
    HOCKET_LARGE_COUNTS ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int>::max() / 2;
constexpr int kBadInput = 3;

/// A duplicate is another communicator.
int do_not_copy(MPI_Comm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

int delete_member(MPI_Comm, int, void* attribute, void*) {
  const std::unique_ptr<Member> member(static_cast<Member*>(attribute));
  if (!member->messages) return MPI_SUCCESS;
  MPI_Comm own = member->messages->comm();
  return HOCKET_REAL(MPI_Comm_free)(&own);
}

/// Reads a file of the launcher's folder.
template <typename Read>
auto read_file(const std::filesystem::path& path, Read read) {
  std::ifstream file(path);
  return read(file, path.string());
}

[[noreturn]] void abort_job(const char* message) {
  std::fprintf(stderr, "hocket: %s\n", message);
  HOCKET_REAL(MPI_Abort)(MPI_COMM_WORLD, kBadInput);
  std::abort();
}

}  // namespace

std::atomic<Serving*> Serving::active_ = nullptr;

void Serving::start() {
  const char* const folder = std::getenv("HOCKET_MPI_ALGORITHMS");
  if (folder == nullptr || *folder == '\0') return;
  try {
    active_.store(new Serving(folder), std::memory_order_release);  // for good: threads may be in it to the end
  } catch (const std::exception& error) {
    abort_job(error.what());
  }
}

void Serving::stop() {
  const Serving* const serving = active_.exchange(nullptr);
  int rank = 0;
  HOCKET_REAL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
  if (serving != nullptr && rank == 0) serving->write_counts();
}

Serving::Serving(const std::string& folder)
    : folder_(folder), library_(read_file(folder_ / "index", executor::Library::read)) {
  HOCKET_REAL(MPI_Comm_create_keyval)(do_not_copy, delete_member, &key_, nullptr);
}

std::optional<int> Serving::serve(const char* op, MPI_Comm comm, const CollectiveCall& call) {
  Member* const member = find_member(comm);
  if (member == nullptr) return std::nullopt;  // MPI will refuse it
  const Answer answer = choose(*member, call);
  if (!answer.choice) {
    count_stock(op, answer.reason);
    return std::nullopt;
  }
  try {
    run(answer, *member, comm, call);
  } catch (const MpiError& error) {
    return error.code;
  } catch (const std::exception& error) {
    abort_job(error.what());  // the other ranks are under way
  }
  const std::lock_guard lock(mutex_);
  Count& count = ran_[answer.choice->number];
  ++count.calls;
  count.bytes += answer.request.share_bytes * (call.kind->has_shares ? member->size : 1);
  return MPI_SUCCESS;
}

Member* Serving::find_member(MPI_Comm comm) {
  void* attribute = nullptr;
  int found = 0;
  if (HOCKET_REAL(MPI_Comm_get_attr)(comm, key_, &attribute, &found) != MPI_SUCCESS) return nullptr;
  if (found != 0) return static_cast<Member*>(attribute);
  auto* const member = new Member;
  int is_inter = 0;
  HOCKET_REAL(MPI_Comm_test_inter)(comm, &is_inter);
  HOCKET_REAL(MPI_Comm_rank)(comm, &member->rank);
  HOCKET_REAL(MPI_Comm_size)(comm, &member->size);
  member->is_inter = is_inter != 0;
  HOCKET_REAL(MPI_Comm_set_attr)(comm, key_, member);
  return member;
}

// Every test here is of something that all ranks of the call have alike; else some would run a program and others wait
// in MPI's own algorithm for ever.
Serving::Answer Serving::choose(const Member& member, const CollectiveCall& call) const {
  if (call.kind == nullptr) return {.reason = call.reason};
  if (member.is_inter) return {.reason = "a communicator of two groups"};
  const executor::Kind& kind = *call.kind;
  if (kind.is_rooted && (call.root < 0 || call.root >= member.size)) return {.reason = "a root that there is not"};
  const Block& share = call.share(member.rank);
  const TypeInfo type = datatypes_.of(share.type);
  const int64_t share_bytes = share.count * type.bytes;
  if (share_bytes <= 0) return {.reason = "empty buffers"};
  if (kind.reduces) {
    if (!datatypes_.is_predefined(call.op)) return {.reason = "a reduction of the program's own"};
    if (!type.is_plain) return {.reason = "a reduction of a type of the program's own, or with gaps"};
    if (!datatypes_.is_defined(call.op, share.type)) return {.reason = "a reduction that MPI has not for the type"};
  }
  if (share_bytes > kLargest / member.size) return {.reason = "larger than this MPI's counts"};
  // not whether this rank's call is in place, which only its own buffers tell: all ranks have to choose alike
  const bool in_place = !kind.has_shares;
  const executor::Request request{&kind, member.size, call.root, share_bytes, kind.reduces ? type.bytes : 1, in_place};
  const auto choice = library_.find(request);
  return {request, choice, choice ? "" : library_.why_none(request)};
}

void Serving::run(const Answer& answer, Member& member, MPI_Comm comm, const CollectiveCall& call) {
  if (!member.messages) {
    MPI_Group group;
    MPI_Comm own;
    check(HOCKET_REAL(MPI_Comm_group)(comm, &group));
    check(HOCKET_REAL(MPI_Comm_create)(comm, group, &own));  // not a duplicate: that runs the program's own callbacks
    HOCKET_REAL(MPI_Group_free)(&group);
    member.messages = std::make_unique<MpiMessages>(own);
  }
  const executor::Choice choice = *answer.choice;
  auto program = member.programs.find(choice.number);
  if (program == member.programs.end()) {
    const std::string way = choice.in_place ? ".in_place" : ".out_of_place";
    const std::string name = std::to_string(choice.number) + "." + std::to_string(member.rank) + way;
    program = member.programs.emplace(choice.number, read_file(folder_ / name, executor::read_program)).first;
  }
  run_served(library_[choice.number], choice, answer.request, program->second, member, call, datatypes_);
}

void Serving::count_stock(const char* op, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  ++stock_[{op, reason}];
}

// Written beside and renamed: the launcher finds all of it or nothing.
void Serving::write_counts() const {
  const std::filesystem::path path = folder_ / "counts", unfinished = folder_ / "counts.unfinished";
  std::ofstream file(unfinished);
  for (const auto& [number, count] : ran_) {
    file << JsonLine("ran").add("algorithm", number).add("calls", count.calls).add("bytes", count.bytes).finish();
  }
  for (const auto& [what, calls] : stock_) {
    file << JsonLine("stock").add("operation", what.first).add("reason", what.second).add("calls", calls).finish();
  }
  file.close();
  std::error_code ignored;  // the launcher says what is missing
  if (file) std::filesystem::rename(unfinished, path, ignored);
}

}  // namespace hocket::mpi
