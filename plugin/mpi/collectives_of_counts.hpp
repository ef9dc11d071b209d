/// Wrappers of the collectives that count elements, for one type of counts; included by collectives.cpp only.

HOCKET_COLLECTIVE(Bcast, Ibcast, (void* buffer, HOCKET_COUNT count, MPI_Datatype type, int root, MPI_Comm comm),
                  (buffer, count, type, root, comm),
                  moves("broadcast", {MPI_IN_PLACE, count, type}, {buffer, count, type}, root),
                  broadcast(count, type, root))

HOCKET_COLLECTIVE(Reduce, Ireduce,
                  (const void* send, void* receive, HOCKET_COUNT count, MPI_Datatype type, MPI_Op op, int root,
                   MPI_Comm comm),
                  (send, receive, count, type, op, root, comm),
                  reduces("reduce", {send, count, type}, {receive, count, type}, op, root),
                  reduce(count, type, op, root))

HOCKET_COLLECTIVE(Allreduce, Iallreduce,
                  (const void* send, void* receive, HOCKET_COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
                  (send, receive, count, type, op, comm),
                  reduces("all_reduce", {send, count, type}, {receive, count, type}, op), all_reduce(count, type, op))

HOCKET_COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block,
                  (const void* send, void* receive, HOCKET_COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
                  (send, receive, count, type, op, comm),
                  reduces("reduce_scatter", {send, count, type}, {receive, count, type}, op),
                  reduce_scatter_block(count, type, op))

HOCKET_COLLECTIVE(Reduce_scatter, Ireduce_scatter,
                  (const void* send, void* receive, const HOCKET_COUNT counts[], MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm),
                  (send, receive, counts, type, op, comm), stock(kUneven), reduce_scatter(counts, type, op))

HOCKET_COLLECTIVE(Allgather, Iallgather,
                  (const void* send, HOCKET_COUNT send_count, MPI_Datatype send_type, void* receive,
                   HOCKET_COUNT receive_count, MPI_Datatype receive_type, MPI_Comm comm),
                  (send, send_count, send_type, receive, receive_count, receive_type, comm),
                  moves("all_gather", {send, send_count, send_type}, {receive, receive_count, receive_type}),
                  all_gather({send, send_count, send_type}, Block{receive, receive_count, receive_type}))

HOCKET_COLLECTIVE(Allgatherv, Iallgatherv,
                  (const void* send, HOCKET_COUNT send_count, MPI_Datatype send_type, void* receive,
                   const HOCKET_COUNT receive_counts[], const HOCKET_DISPLACEMENT displacements[],
                   MPI_Datatype receive_type, MPI_Comm comm),
                  (send, send_count, send_type, receive, receive_counts, displacements, receive_type, comm),
                  stock(kUneven),
                  all_gather({send, send_count, send_type}, Blocks{receive, receive_counts, &receive_type}))

HOCKET_COLLECTIVE(Gather, Igather,
                  (const void* send, HOCKET_COUNT send_count, MPI_Datatype send_type, void* receive,
                   HOCKET_COUNT receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm),
                  (send, send_count, send_type, receive, receive_count, receive_type, root, comm),
                  moves("gather", {send, send_count, send_type}, {receive, receive_count, receive_type}, root),
                  gather({send, send_count, send_type}, Block{receive, receive_count, receive_type}, root))

HOCKET_COLLECTIVE(Gatherv, Igatherv,
                  (const void* send, HOCKET_COUNT send_count, MPI_Datatype send_type, void* receive,
                   const HOCKET_COUNT receive_counts[], const HOCKET_DISPLACEMENT displacements[],
                   MPI_Datatype receive_type, int root, MPI_Comm comm),
                  (send, send_count, send_type, receive, receive_counts, displacements, receive_type, root, comm),
                  stock(kUneven),
                  gather({send, send_count, send_type}, Blocks{receive, receive_counts, &receive_type}, root))

HOCKET_COLLECTIVE(Scatter, Iscatter,
                  (const void* send, HOCKET_COUNT send_count, MPI_Datatype send_type, void* receive,
                   HOCKET_COUNT receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm),
                  (send, send_count, send_type, receive, receive_count, receive_type, root, comm),
                  moves("scatter", {send, send_count, send_type}, {receive, receive_count, receive_type}, root),
                  scatter(Block{send, send_count, send_type}, {receive, receive_count, receive_type}, root))

HOCKET_COLLECTIVE(Scatterv, Iscatterv,
                  (const void* send, const HOCKET_COUNT send_counts[], const HOCKET_DISPLACEMENT displacements[],
                   MPI_Datatype send_type, void* receive, HOCKET_COUNT receive_count, MPI_Datatype receive_type,
                   int root, MPI_Comm comm),
                  (send, send_counts, displacements, send_type, receive, receive_count, receive_type, root, comm),
                  stock(kUneven),
                  scatter(Blocks{send, send_counts, &send_type}, {receive, receive_count, receive_type}, root))

HOCKET_COLLECTIVE(Alltoall, Ialltoall,
                  (const void* send, HOCKET_COUNT send_count, MPI_Datatype send_type, void* receive,
                   HOCKET_COUNT receive_count, MPI_Datatype receive_type, MPI_Comm comm),
                  (send, send_count, send_type, receive, receive_count, receive_type, comm),
                  moves("all_to_all", {send, send_count, send_type}, {receive, receive_count, receive_type}),
                  all_to_all(Block{send, send_count, send_type}, Block{receive, receive_count, receive_type}))

HOCKET_COLLECTIVE(Alltoallv, Ialltoallv,
                  (const void* send, const HOCKET_COUNT send_counts[], const HOCKET_DISPLACEMENT send_displacements[],
                   MPI_Datatype send_type, void* receive, const HOCKET_COUNT receive_counts[],
                   const HOCKET_DISPLACEMENT receive_displacements[], MPI_Datatype receive_type, MPI_Comm comm),
                  (send, send_counts, send_displacements, send_type, receive, receive_counts, receive_displacements,
                   receive_type, comm),
                  stock(kUneven),
                  all_to_all(Blocks{send, send_counts, &send_type}, Blocks{receive, receive_counts, &receive_type}))

HOCKET_COLLECTIVE(Alltoallw, Ialltoallw,
                  (const void* send, const HOCKET_COUNT send_counts[], const HOCKET_DISPLACEMENT send_displacements[],
                   const MPI_Datatype send_types[], void* receive, const HOCKET_COUNT receive_counts[],
                   const HOCKET_DISPLACEMENT receive_displacements[], const MPI_Datatype receive_types[],
                   MPI_Comm comm),
                  (send, send_counts, send_displacements, send_types, receive, receive_counts, receive_displacements,
                   receive_types, comm),
                  stock(kUneven),
                  all_to_all(Blocks{send, send_counts, send_types, true},
                             Blocks{receive, receive_counts, receive_types, true}))
