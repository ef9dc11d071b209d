/// Wrappers of the messages: sends of every mode, receives, exchanges, and receives of what a matching probe found.

#include <mutex>
#include <unordered_map>
#include <utility>

#include "calls.hpp"

namespace hocket::mpi {
namespace {

/// How many elements of which type.
struct Elements {
  int64_t count;
  MPI_Datatype type;
};

/// The caller's status, or one of our own where it wants none.
class KnownStatus {
 public:
  explicit KnownStatus(MPI_Status* callers) : status_(callers == MPI_STATUS_IGNORE ? &own_ : callers) {}
  MPI_Status* get() const { return status_; }

 private:
  MPI_Status own_{};
  MPI_Status* status_;
};

/// Appends a send to `peer`, or a receive, of a communicator; nothing for MPI_PROC_NULL, nor for a peer outside the
/// communicator, which MPI will refuse.
void append_message(std::vector<Operation>& operations, const char* op, bool is_send, Elements elements, int peer,
                    int tag, MPI_Comm comm) {
  if (peer == MPI_PROC_NULL) return;
  std::shared_ptr<const Group> group = group_of(op, comm, true);
  if (group == nullptr) return;
  // Who sent it is only known from the status at the end: then a line of its own corrects the shape.
  const bool is_any = !is_send && peer == MPI_ANY_SOURCE;
  if (!is_any && (peer < 0 || std::cmp_greater_equal(peer, group->peers.size()))) return;
  const TypeInfo type = Recorder::get()->datatypes().of(elements.type);
  const int64_t bytes = elements.count * type.bytes;
  Shape shape{.op = op, .kind = is_send ? "send" : "recv", .group = group->id};
  (is_send ? shape.input_bytes : shape.output_bytes) = bytes;
  shape.type = type.name;
  if (!is_any) shape.peer = group->peers[static_cast<size_t>(peer)];
  if (tag != MPI_ANY_TAG) shape.tag = tag;
  operations.push_back(
      {.group = std::move(group), .shape = std::move(shape), .is_message = true, .has_status = !is_send});
}

std::vector<Operation> send_of(const char* op, int64_t count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
  std::vector<Operation> operations;
  append_message(operations, op, true, {count, type}, peer, tag, comm);
  return operations;
}

std::vector<Operation> receive_of(const char* op, int64_t count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
  std::vector<Operation> operations;
  append_message(operations, op, false, {count, type}, peer, tag, comm);
  return operations;
}

/// A send and a receive that run side by side.
std::vector<Operation> exchange_of(const char* op, Elements sent, int destination, int send_tag, Elements received,
                                   int source, int receive_tag, MPI_Comm comm) {
  std::vector<Operation> operations;
  append_message(operations, op, true, sent, destination, send_tag, comm);
  append_message(operations, op, false, received, source, receive_tag, comm);
  for (Operation& operation : operations) operation.shape.is_async = true;
  return operations;
}

/// The communicators of messages that a matching probe found and nobody has received yet.
/// MPI_Mrecv is given the message alone, so its communicator is kept from the probe on.
class ProbedMessages {
 public:
  static ProbedMessages& instance() {
    static auto* const messages = new ProbedMessages;
    return *messages;
  }

  void add(MPI_Message message, MPI_Comm comm) {
    const std::lock_guard lock(mutex_);
    comms_.insert_or_assign(message, comm);
  }

  std::optional<MPI_Comm> take(MPI_Message message) {
    const std::lock_guard lock(mutex_);
    const auto node = comms_.extract(message);
    return node.empty() ? std::nullopt : std::optional(node.mapped());
  }

 private:
  std::mutex mutex_;
  std::unordered_map<MPI_Message, MPI_Comm> comms_;
};

std::vector<Operation> matched_receive_of(const char* op, int64_t count, MPI_Datatype type, MPI_Message message) {
  const std::optional<MPI_Comm> comm = ProbedMessages::instance().take(message);
  if (!comm) return {};
  return receive_of(op, count, type, MPI_ANY_SOURCE, MPI_ANY_TAG, *comm);
}

}  // namespace

HOCKET_EXPORT int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  const int result = HOCKET_REAL(MPI_Mprobe)(source, tag, comm, message, status);
  if (result == MPI_SUCCESS && Recorder::get() != nullptr) ProbedMessages::instance().add(*message, comm);
  return result;
}

HOCKET_EXPORT int MPI_Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
  const int result = HOCKET_REAL(MPI_Improbe)(source, tag, comm, flag, message, status);
  if (result == MPI_SUCCESS && *flag != 0 && Recorder::get() != nullptr) {
    ProbedMessages::instance().add(*message, comm);
  }
  return result;
}

#define HOCKET_SEND_PARAMETERS \
  const void *buffer, HOCKET_COUNT count, MPI_Datatype type, int destination, int tag, MPI_Comm comm
#define HOCKET_SEND_ARGUMENTS buffer, count, type, destination, tag, comm

#define HOCKET_SEND(name, nonblocking_name)                                                \
  HOCKET_BLOCKING_SEND(HOCKET_JOIN(MPI_##name, HOCKET_ENDING))                             \
  HOCKET_SEND_REQUEST(HOCKET_JOIN(MPI_##nonblocking_name, HOCKET_ENDING), NonblockingCall) \
  HOCKET_SEND_REQUEST(HOCKET_JOIN(MPI_##name##_init, HOCKET_ENDING), PersistentCall)

#define HOCKET_BLOCKING_SEND(name)                                                      \
  HOCKET_EXPORT int name(HOCKET_SEND_PARAMETERS) {                                      \
    BlockingCall call(send_of(HOCKET_TEXT(name), count, type, destination, tag, comm)); \
    return call.end(HOCKET_REAL(name)(HOCKET_SEND_ARGUMENTS));                          \
  }

#define HOCKET_SEND_REQUEST(name, Call)                                          \
  HOCKET_EXPORT int name(HOCKET_SEND_PARAMETERS, MPI_Request* request) {         \
    Call call(send_of(HOCKET_TEXT(name), count, type, destination, tag, comm));  \
    return call.end(HOCKET_REAL(name)(HOCKET_SEND_ARGUMENTS, request), request); \
  }

#define HOCKET_WRAPPERS "messages_of_counts.hpp"
#include "both_counts.hpp"

}  // namespace hocket::mpi
