/// Wrappers of the collectives: blocking, nonblocking and, of MPI 4, persistent.

#include "calls.hpp"
#include "collective_sizes.hpp"
#include "serving.hpp"

namespace hocket::mpi {
namespace {

constexpr const char* kUneven = "counts that may differ between ranks";

CollectiveCall moves(std::string_view kind, Block send, Block receive, int root = -1) {
  return {.kind = &executor::find_kind(kind), .send = send, .receive = receive, .root = root};
}

CollectiveCall reduces(std::string_view kind, Block send, Block receive, MPI_Op op, int root = -1) {
  return {.kind = &executor::find_kind(kind), .send = send, .receive = receive, .op = op, .root = root};
}

CollectiveCall stock(const char* reason) { return {.reason = reason}; }

// The operations of a collective of which `shape` is CollectiveSizes' description; none when it is not recorded.
#define HOCKET_OPERATIONS(op, shape)                                                           \
  [&] {                                                                                        \
    const std::shared_ptr<const Group> group = group_of(op, comm, false);                      \
    if (group == nullptr) return std::vector<Operation>();                                     \
    return collective(op, group, CollectiveSizes(Recorder::get()->datatypes(), *group).shape); \
  }()

// A collective `name` of the `parameters` and `arguments`, of which one is `comm`: `call` is what a program may do in
// its place, and then comes CollectiveSizes' description of it.
#define HOCKET_COLLECTIVE(name, nonblocking_name, parameters, arguments, call, ...)                          \
  HOCKET_BLOCKING(HOCKET_JOIN(MPI_##name, HOCKET_ENDING), parameters, arguments, call, __VA_ARGS__)          \
  HOCKET_NONBLOCKING(HOCKET_JOIN(MPI_##nonblocking_name, HOCKET_ENDING), parameters, arguments, __VA_ARGS__) \
  HOCKET_PERSISTENT(HOCKET_JOIN(MPI_##name##_init, HOCKET_ENDING), parameters, arguments, __VA_ARGS__)

// Recorded whether a program serves it or MPI does: the trace says what the application asked for.
#define HOCKET_BLOCKING(name, parameters, arguments, call, ...)                                          \
  HOCKET_EXPORT int name parameters {                                                                    \
    BlockingCall recorded(HOCKET_OPERATIONS(HOCKET_TEXT(name), __VA_ARGS__));                            \
    std::optional<int> served;                                                                           \
    if (Serving* const serving = Serving::get()) served = serving->serve(HOCKET_TEXT(name), comm, call); \
    return recorded.end(served ? *served : HOCKET_REAL(name) arguments);                                 \
  }

#define HOCKET_NONBLOCKING(name, parameters, arguments, ...)                     \
  HOCKET_EXPORT int name(HOCKET_LIST parameters, MPI_Request* request) {         \
    NonblockingCall call(HOCKET_OPERATIONS(HOCKET_TEXT(name), __VA_ARGS__));     \
    count_stock(HOCKET_TEXT(name), "nonblocking");                               \
    return call.end(HOCKET_REAL(name)(HOCKET_LIST arguments, request), request); \
  }

#if HOCKET_PERSISTENT_COLLECTIVES
#define HOCKET_PERSISTENT(name, parameters, arguments, ...)                             \
  HOCKET_EXPORT int name(HOCKET_LIST parameters, MPI_Info info, MPI_Request* request) { \
    PersistentCall call(HOCKET_OPERATIONS(HOCKET_TEXT(name), __VA_ARGS__));             \
    count_stock(HOCKET_TEXT(name), "persistent");                                       \
    return call.end(HOCKET_REAL(name)(HOCKET_LIST arguments, info, request), request);  \
  }
#else
#define HOCKET_PERSISTENT(...)
#endif

}  // namespace

#define HOCKET_ENDING
HOCKET_COLLECTIVE(Barrier, Ibarrier, (MPI_Comm comm), (comm), stock("no program is for it"), barrier())
#undef HOCKET_ENDING

#define HOCKET_WRAPPERS "collectives_of_counts.hpp"
#include "both_counts.hpp"

}  // namespace hocket::mpi
