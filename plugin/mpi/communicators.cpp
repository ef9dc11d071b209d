/// Wrappers of what makes communicators: each is numbered when it is made, which all its members do in one order.

#include <utility>

#include "calls.hpp"
#include "requests.hpp"

namespace hocket::mpi {
namespace {

int registered(int result, const char* maker, const MPI_Comm* made) {
  Recorder* const recorder = Recorder::get();
  if (result == MPI_SUCCESS && recorder != nullptr && *made != MPI_COMM_NULL)
    recorder->groups().register_comm(*made, maker);
  return result;
}

/// The communicator exists when the request is complete, but is numbered now: who waits first may differ by rank.
int reserved(int result, const char* maker, MPI_Comm comm, const MPI_Comm* made, const MPI_Request* request) {
  Recorder* const recorder = Recorder::get();
  if (result != MPI_SUCCESS || recorder == nullptr) return result;
  if (std::shared_ptr<const Group> group = recorder->groups().reserve(comm, maker)) {
    Requests::instance().add(*request, {.operations = {}, .group = std::move(group), .made = made});
  }
  return result;
}

// All makers alike: MPI first, then the number. All members of the new communicator are in the call, in the same order
// among their communicators, so that numbers agree without a message.
#define HOCKET_MAKER(name, parameters, arguments)                                   \
  HOCKET_EXPORT int name(HOCKET_LIST parameters, MPI_Comm* made) {                  \
    return registered(HOCKET_REAL(name)(HOCKET_LIST arguments, made), #name, made); \
  }

}  // namespace

HOCKET_EXPORT int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* made, MPI_Request* request) {
  return reserved(HOCKET_REAL(MPI_Comm_idup)(comm, made, request), "MPI_Comm_idup", comm, made, request);
}

#if HOCKET_LARGE_COUNTS
HOCKET_EXPORT int MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* made, MPI_Request* request) {
  return reserved(HOCKET_REAL(MPI_Comm_idup_with_info)(comm, info, made, request), "MPI_Comm_idup_with_info", comm,
                  made, request);
}
#endif

HOCKET_MAKER(MPI_Comm_dup, (MPI_Comm comm), (comm))
HOCKET_MAKER(MPI_Comm_dup_with_info, (MPI_Comm comm, MPI_Info info), (comm, info))
HOCKET_MAKER(MPI_Comm_create, (MPI_Comm comm, MPI_Group group), (comm, group))
HOCKET_MAKER(MPI_Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag), (comm, group, tag))
HOCKET_MAKER(MPI_Comm_split, (MPI_Comm comm, int color, int key), (comm, color, key))
HOCKET_MAKER(MPI_Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info), (comm, type, key, info))
HOCKET_MAKER(MPI_Cart_create, (MPI_Comm comm, int dimensions, const int sizes[], const int periods[], int reorder),
             (comm, dimensions, sizes, periods, reorder))
HOCKET_MAKER(MPI_Cart_sub, (MPI_Comm comm, const int remaining[]), (comm, remaining))
HOCKET_MAKER(MPI_Graph_create, (MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder),
             (comm, nodes, index, edges, reorder))
HOCKET_MAKER(MPI_Dist_graph_create,
             (MPI_Comm comm, int n, const int sources[], const int degrees[], const int destinations[],
              const int weights[], MPI_Info info, int reorder),
             (comm, n, sources, degrees, destinations, weights, info, reorder))
HOCKET_MAKER(MPI_Dist_graph_create_adjacent,
             (MPI_Comm comm, int in_degree, const int sources[], const int source_weights[], int out_degree,
              const int destinations[], const int destination_weights[], MPI_Info info, int reorder),
             (comm, in_degree, sources, source_weights, out_degree, destinations, destination_weights, info, reorder))
HOCKET_MAKER(MPI_Intercomm_create, (MPI_Comm local, int leader, MPI_Comm peers, int remote_leader, int tag),
             (local, leader, peers, remote_leader, tag))
HOCKET_MAKER(MPI_Intercomm_merge, (MPI_Comm comm, int high), (comm, high))

}  // namespace hocket::mpi
