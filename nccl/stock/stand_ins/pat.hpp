// NCCL's parallel aggregated trees (PAT). Which step sends what to whom is NCCL's own schedule, from its header; here
// the steps are done one after the other.
#pragma once

#include <algorithm>
#include <map>

#include "work.hpp"

namespace hocket::stand_in {

/** A connection with the rank at a distance of a power of two. */
struct PatLane {
  Lane lane;
  int64_t filled = 0;  // up to where its slots hold data already, in elements since the connection's start

  int64_t slot_elements(size_t element_bytes) const {
    return lane.info->stepSize / static_cast<int64_t>(element_bytes);
  }
  char* place(uint64_t step, int64_t offset, size_t element_bytes) const {
    return lane.buffer.only() + step % NCCL_STEPS * lane.info->stepSize + offset * element_bytes;
  }
};

class PatLanes {
 public:
  explicit PatLanes(const Work& work, bool gathers) : work_(work), gathers_(gathers) {}
  ~PatLanes() {
    for (auto* lanes : {&from_, &to_})
      for (auto& [_, made] : *lanes) made.lane.info->step = made.lane.step;
  }

  PatLane& from(int dimension) { return lane(from_, dimension, gathers_ ? 1 : -1, false); }
  PatLane& to(int dimension) { return lane(to_, dimension, gathers_ ? -1 : 1, true); }

  bool wait_for_data(PatLane& from, uint64_t step) {
    return work_.fibers.wait([&] { return from.lane.tail.least() > step; }, "data of", from.lane.peer, step);
  }
  bool wait_for_slot(PatLane& to, uint64_t step) {
    return work_.fibers.wait([&] { return to.lane.head.least() + NCCL_STEPS > step; }, "room to send to", to.lane.peer,
                             step);
  }
  void post_sent(PatLane& to, int64_t elements) {
    if (to.lane.info->connFifo)
      reinterpret_cast<volatile ncclConnFifo*>(to.lane.info->connFifo)[to.lane.step % NCCL_STEPS].size =
          elements * static_cast<int64_t>(work_.element_bytes);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    to.lane.tail.store(++to.lane.step);
  }
  void post_received(PatLane& from) { from.lane.head.store(++from.lane.step); }

 private:
  PatLane& lane(std::map<int, PatLane>& lanes, int dimension, int sign, bool sends) {
    auto found = lanes.find(dimension);
    if (found != lanes.end()) return found->second;
    int peer = ((work_.rank + sign * (1 << dimension)) % work_.ranks + work_.ranks) % work_.ranks;
    auto* connections = work_.channel.peers[peer];
    ncclConnInfo* info = sends ? connections->send : connections->recv;
    Lane made{info, peer, info->step, Place(info->head), Place(info->tail), Place(info->buffs[NCCL_PROTO_SIMPLE])};
    return lanes.emplace(dimension, PatLane{made}).first->second;
  }

  const Work& work_;
  bool gathers_;
  std::map<int, PatLane> from_, to_;
};

/** Runs `step` on each step of NCCL's schedule until its last. */
template <typename Schedule, typename Step>
void each_pat_step(Schedule& schedule, const Fibers& fibers, const Step& step) {
  ncclPatStep now{};
  do {
    now.flags = 0;
    schedule.getNextOp(&now);
    if (!(now.flags & PatSkipped)) step(now);
  } while (now.last != 2 && !fibers.aborted());
}

template <template <typename> class Schedule, typename Step>
void with_pat_schedule(const Work& work, const Step& step) {
  auto run = [&](auto element) {
    using Element = decltype(element);
    Schedule<Element> schedule(static_cast<int>(work.chunk * sizeof(Element)), NCCL_STEPS,
                               NCCL_PAT_NWORKERS / WARP_SIZE, work.start, work.start + work.size, work.count,
                               static_cast<int>(work.chunk), work.rank, work.ranks);
    each_pat_step(schedule, work.fibers, step);
  };
  work.element_bytes == 1   ? run(int8_t{})
  : work.element_bytes == 2 ? run(int16_t{})
  : work.element_bytes == 4 ? run(int32_t{})
                            : run(int64_t{});
}

inline void pat_reduce_scatter(Work work) {
  work.cut();
  PatLanes lanes(work, false);
  auto* input = static_cast<char*>(work.coll->sendbuff);
  auto* output = static_cast<char*>(work.coll->recvbuff);
  size_t width = work.element_bytes;
  int64_t filled = 0;
  with_pat_schedule<PatRSAlgorithm>(work, [&](const ncclPatStep& now) {
    int64_t count = std::max(now.nelem, 0);
    const char* received = nullptr;
    char* target;
    bool fresh;
    PatLane* from = now.recvDim >= 0 ? &lanes.from(now.recvDim) : nullptr;
    PatLane* to = now.sendDim >= 0 ? &lanes.to(now.sendDim) : nullptr;
    if (from) {
      if (!lanes.wait_for_data(*from, from->lane.step)) return;
      received = from->place(from->lane.step, now.recvOffset, width);
    }
    if (to) {
      uint64_t step = to->lane.step + now.stepOffset;
      if (!lanes.wait_for_slot(*to, step)) return;
      target = to->place(step, now.sendOffset, width);
      int64_t end = now.sendOffset + count + static_cast<int64_t>(step) * to->slot_elements(width);
      fresh = to->filled < end;
      to->filled = std::max(to->filled, end);
    } else {
      target = output + now.outIx * width;
      fresh = filled < static_cast<int64_t>(now.outIx) + count;
      filled = std::max(filled, static_cast<int64_t>(now.outIx) + count);
    }
    if (fresh) memmove(target, input + now.inpIx * width, count * width);
    if (received) reduce_into(work.reduction, target, received, count);
    if (to && now.postSend) lanes.post_sent(*to, now.sendOffset + count);
    if (from && now.postRecv) lanes.post_received(*from);
  });
}

inline void pat_all_gather(Work work) {
  work.cut();
  PatLanes lanes(work, true);
  auto* input = static_cast<char*>(work.coll->sendbuff);
  auto* output = static_cast<char*>(work.coll->recvbuff);
  int64_t filled = 0;
  with_pat_schedule<PatAGAlgorithm>(work, [&](const ncclPatStep& now) {
    int64_t count = std::max(now.nelem, 0);
    const char* source;
    bool fresh;
    PatLane* from = now.recvDim >= 0 ? &lanes.from(now.recvDim) : nullptr;
    PatLane* to = now.sendDim >= 0 ? &lanes.to(now.sendDim) : nullptr;
    if (from) {
      uint64_t step = from->lane.step + now.stepOffset;
      if (!lanes.wait_for_data(*from, step)) return;
      source = from->place(step, now.recvOffset, 1);
      int64_t end = now.recvOffset + count + static_cast<int64_t>(step) * from->slot_elements(1);
      fresh = from->filled < end;
      from->filled = std::max(from->filled, end);
    } else {
      source = input + now.inpIx;
      fresh = filled < static_cast<int64_t>(now.inpIx) + count;
      filled = std::max(filled, static_cast<int64_t>(now.inpIx) + count);
    }
    if (to) {
      if (!lanes.wait_for_slot(*to, to->lane.step)) return;
      memcpy(to->place(to->lane.step, now.sendOffset, 1), source, count);
    }
    if (fresh) memmove(output + now.outIx, source, count);
    if (to && now.postSend) lanes.post_sent(*to, now.sendOffset + count);
    if (from && now.postRecv) lanes.post_received(*from);
  });
}

}  // namespace hocket::stand_in
