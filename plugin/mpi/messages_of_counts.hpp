/// Wrappers of the messages, for one type of counts; included by messages.cpp only.

HOCKET_SEND(Send, Isend)
HOCKET_SEND(Bsend, Ibsend)
HOCKET_SEND(Ssend, Issend)
HOCKET_SEND(Rsend, Irsend)

HOCKET_EXPORT int HOCKET_JOIN(MPI_Recv, HOCKET_ENDING)(void* buffer, HOCKET_COUNT count, MPI_Datatype type, int source,
                                                       int tag, MPI_Comm comm, MPI_Status* status) {
  const KnownStatus known(status);
  BlockingCall call(receive_of(HOCKET_TEXT(HOCKET_JOIN(MPI_Recv, HOCKET_ENDING)), count, type, source, tag, comm),
                    known.get());
  return call.end(
      HOCKET_REAL(HOCKET_JOIN(MPI_Recv, HOCKET_ENDING))(buffer, count, type, source, tag, comm, known.get()));
}

HOCKET_EXPORT int HOCKET_JOIN(MPI_Irecv, HOCKET_ENDING)(void* buffer, HOCKET_COUNT count, MPI_Datatype type, int source,
                                                        int tag, MPI_Comm comm, MPI_Request* request) {
  NonblockingCall call(receive_of(HOCKET_TEXT(HOCKET_JOIN(MPI_Irecv, HOCKET_ENDING)), count, type, source, tag, comm));
  return call.end(HOCKET_REAL(HOCKET_JOIN(MPI_Irecv, HOCKET_ENDING))(buffer, count, type, source, tag, comm, request),
                  request);
}

HOCKET_EXPORT int HOCKET_JOIN(MPI_Recv_init, HOCKET_ENDING)(void* buffer, HOCKET_COUNT count, MPI_Datatype type,
                                                            int source, int tag, MPI_Comm comm, MPI_Request* request) {
  PersistentCall call(
      receive_of(HOCKET_TEXT(HOCKET_JOIN(MPI_Recv_init, HOCKET_ENDING)), count, type, source, tag, comm));
  return call.end(
      HOCKET_REAL(HOCKET_JOIN(MPI_Recv_init, HOCKET_ENDING))(buffer, count, type, source, tag, comm, request), request);
}

HOCKET_EXPORT int HOCKET_JOIN(MPI_Sendrecv, HOCKET_ENDING)(const void* send, HOCKET_COUNT send_count,
                                                           MPI_Datatype send_type, int destination, int send_tag,
                                                           void* receive, HOCKET_COUNT receive_count,
                                                           MPI_Datatype receive_type, int source, int receive_tag,
                                                           MPI_Comm comm, MPI_Status* status) {
  const KnownStatus known(status);
  BlockingCall call(exchange_of(HOCKET_TEXT(HOCKET_JOIN(MPI_Sendrecv, HOCKET_ENDING)), {send_count, send_type},
                                destination, send_tag, {receive_count, receive_type}, source, receive_tag, comm),
                    known.get());
  return call.end(HOCKET_REAL(HOCKET_JOIN(MPI_Sendrecv, HOCKET_ENDING))(send, send_count, send_type, destination,
                                                                        send_tag, receive, receive_count, receive_type,
                                                                        source, receive_tag, comm, known.get()));
}

HOCKET_EXPORT int HOCKET_JOIN(MPI_Sendrecv_replace, HOCKET_ENDING)(void* buffer, HOCKET_COUNT count, MPI_Datatype type,
                                                                   int destination, int send_tag, int source,
                                                                   int receive_tag, MPI_Comm comm, MPI_Status* status) {
  const KnownStatus known(status);
  BlockingCall call(exchange_of(HOCKET_TEXT(HOCKET_JOIN(MPI_Sendrecv_replace, HOCKET_ENDING)), {count, type},
                                destination, send_tag, {count, type}, source, receive_tag, comm),
                    known.get());
  return call.end(HOCKET_REAL(HOCKET_JOIN(MPI_Sendrecv_replace, HOCKET_ENDING))(
      buffer, count, type, destination, send_tag, source, receive_tag, comm, known.get()));
}

HOCKET_EXPORT int HOCKET_JOIN(MPI_Mrecv, HOCKET_ENDING)(void* buffer, HOCKET_COUNT count, MPI_Datatype type,
                                                        MPI_Message* message, MPI_Status* status) {
  const KnownStatus known(status);
  BlockingCall call(matched_receive_of(HOCKET_TEXT(HOCKET_JOIN(MPI_Mrecv, HOCKET_ENDING)), count, type, *message),
                    known.get());
  return call.end(HOCKET_REAL(HOCKET_JOIN(MPI_Mrecv, HOCKET_ENDING))(buffer, count, type, message, known.get()));
}

HOCKET_EXPORT int HOCKET_JOIN(MPI_Imrecv, HOCKET_ENDING)(void* buffer, HOCKET_COUNT count, MPI_Datatype type,
                                                         MPI_Message* message, MPI_Request* request) {
  NonblockingCall call(matched_receive_of(HOCKET_TEXT(HOCKET_JOIN(MPI_Imrecv, HOCKET_ENDING)), count, type, *message));
  return call.end(HOCKET_REAL(HOCKET_JOIN(MPI_Imrecv, HOCKET_ENDING))(buffer, count, type, message, request), request);
}

#if HOCKET_LARGE_COUNTS
HOCKET_EXPORT int HOCKET_JOIN(MPI_Isendrecv, HOCKET_ENDING)(const void* send, HOCKET_COUNT send_count,
                                                            MPI_Datatype send_type, int destination, int send_tag,
                                                            void* receive, HOCKET_COUNT receive_count,
                                                            MPI_Datatype receive_type, int source, int receive_tag,
                                                            MPI_Comm comm, MPI_Request* request) {
  NonblockingCall call(exchange_of(HOCKET_TEXT(HOCKET_JOIN(MPI_Isendrecv, HOCKET_ENDING)), {send_count, send_type},
                                   destination, send_tag, {receive_count, receive_type}, source, receive_tag, comm));
  return call.end(HOCKET_REAL(HOCKET_JOIN(MPI_Isendrecv, HOCKET_ENDING))(send, send_count, send_type, destination,
                                                                         send_tag, receive, receive_count, receive_type,
                                                                         source, receive_tag, comm, request),
                  request);
}

HOCKET_EXPORT int HOCKET_JOIN(MPI_Isendrecv_replace, HOCKET_ENDING)(void* buffer, HOCKET_COUNT count, MPI_Datatype type,
                                                                    int destination, int send_tag, int source,
                                                                    int receive_tag, MPI_Comm comm,
                                                                    MPI_Request* request) {
  NonblockingCall call(exchange_of(HOCKET_TEXT(HOCKET_JOIN(MPI_Isendrecv_replace, HOCKET_ENDING)), {count, type},
                                   destination, send_tag, {count, type}, source, receive_tag, comm));
  return call.end(HOCKET_REAL(HOCKET_JOIN(MPI_Isendrecv_replace, HOCKET_ENDING))(
                      buffer, count, type, destination, send_tag, source, receive_tag, comm, request),
                  request);
}
#endif
