/// Wrappers of what is not recorded, for one type of counts; included by omitted.cpp only.

HOCKET_OMITTED_PAIR(Scan, Iscan, kScan,
                    (const void* send, void* receive, HOCKET_COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
                    (send, receive, count, type, op, comm))
HOCKET_OMITTED_PAIR(Exscan, Iexscan, kScan,
                    (const void* send, void* receive, HOCKET_COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
                    (send, receive, count, type, op, comm))
HOCKET_OMITTED_PAIR(Neighbor_allgather, Ineighbor_allgather, kNeighbours,
                    (const void* send, HOCKET_COUNT send_count, MPI_Datatype send_type, void* receive,
                     HOCKET_COUNT receive_count, MPI_Datatype receive_type, MPI_Comm comm),
                    (send, send_count, send_type, receive, receive_count, receive_type, comm))
HOCKET_OMITTED_PAIR(Neighbor_allgatherv, Ineighbor_allgatherv, kNeighbours,
                    (const void* send, HOCKET_COUNT send_count, MPI_Datatype send_type, void* receive,
                     const HOCKET_COUNT receive_counts[], const HOCKET_DISPLACEMENT displacements[],
                     MPI_Datatype receive_type, MPI_Comm comm),
                    (send, send_count, send_type, receive, receive_counts, displacements, receive_type, comm))
HOCKET_OMITTED_PAIR(Neighbor_alltoall, Ineighbor_alltoall, kNeighbours,
                    (const void* send, HOCKET_COUNT send_count, MPI_Datatype send_type, void* receive,
                     HOCKET_COUNT receive_count, MPI_Datatype receive_type, MPI_Comm comm),
                    (send, send_count, send_type, receive, receive_count, receive_type, comm))
HOCKET_OMITTED_PAIR(Neighbor_alltoallv, Ineighbor_alltoallv, kNeighbours,
                    (const void* send, const HOCKET_COUNT send_counts[], const HOCKET_DISPLACEMENT send_displacements[],
                     MPI_Datatype send_type, void* receive, const HOCKET_COUNT receive_counts[],
                     const HOCKET_DISPLACEMENT receive_displacements[], MPI_Datatype receive_type, MPI_Comm comm),
                    (send, send_counts, send_displacements, send_type, receive, receive_counts, receive_displacements,
                     receive_type, comm))
HOCKET_OMITTED_PAIR(Neighbor_alltoallw, Ineighbor_alltoallw, kNeighbours,
                    (const void* send, const HOCKET_COUNT send_counts[], const MPI_Aint send_displacements[],
                     const MPI_Datatype send_types[], void* receive, const HOCKET_COUNT receive_counts[],
                     const MPI_Aint receive_displacements[], const MPI_Datatype receive_types[], MPI_Comm comm),
                    (send, send_counts, send_displacements, send_types, receive, receive_counts, receive_displacements,
                     receive_types, comm))
