// One work of a collective, as NCCL's host code enqueued it, on one channel.
#pragma once

#include <utility>
#include <vector>

#include "pipe.hpp"

namespace hocket::stand_in {

/** One work of a collective on one channel. */
struct Work {
  Fibers& fibers;
  ncclDevChannel& channel;
  const int* buffer_bytes;
  int rank, ranks, channel_id;
  ncclDevWorkColl* coll;
  int function, algorithm, protocol;
  Reduction reduction;
  size_t element_bytes;

  // The part of this channel, in elements: where it starts, how much it is, in chunks of how much; of the whole
  // `count`.
  int64_t count = 0, start = 0, size = 0, chunk = 0;

  void cut() {
    int64_t whole = 0, offset = 0, part = 0, grain = 0;
    ncclCollCbdPart(coll, channel_id, protocol, static_cast<int>(element_bytes), &whole, &offset, &part, &grain);
    count = whole, start = offset, size = part, chunk = grain;
  }

  Pipe pipe(Cut how, std::vector<int> from, std::vector<int> to, int from_connection = 0, int to_connection = 0,
            const void* input = nullptr, void* output = nullptr) const {
    return Pipe(fibers, channel, buffer_bytes, how, reduction, element_bytes, std::move(from), std::move(to),
                from_connection, to_connection, input ? input : coll->sendbuff, output ? output : coll->recvbuff);
  }

  Cut ring_cut(int chunk_steps, int slice_steps) const {
    return protocol == NCCL_PROTO_SIMPLE ? Cut{protocol, chunk_steps / slice_steps, slice_steps} : Cut{protocol};
  }
};

inline std::vector<int> peers(const int* list, int most) {
  std::vector<int> found;
  for (int i = 0; i < most && list[i] >= 0; i++) found.push_back(list[i]);
  return found;
}

}  // namespace hocket::stand_in
