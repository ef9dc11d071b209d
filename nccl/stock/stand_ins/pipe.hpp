// A rank's connections on one channel, driven as NCCL's kernels drive them: the same steps, slots, flags and credits,
// so that its own proxy threads and other ranks' kernels see what they expect. Registered buffers are not used.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "channel.h"  // NCCL's
#include "device.h"
#include "device.hpp"
#include "elements.hpp"
#include "fibers.hpp"

namespace hocket::stand_in {

/** How chunks are cut on a connection: a protocol, and of Simple how many slices a chunk has and steps a slice. */
struct Cut {
  int protocol;
  int slices_per_chunk = 1;
  int steps_per_slice = 1;
};

/** One address, or, of NVLink's multicast, the same place on every device. */
class Place {
 public:
  explicit Place(void* address = nullptr) : multicast_(address && is_multicast(address)) {
    if (multicast_)
      copies_ = copies_of(address);
    else if (address)
      copies_ = {static_cast<char*>(address)};
  }
  bool multicast() const { return multicast_; }
  uint64_t least() const {
    uint64_t value = ~uint64_t{0};
    for (char* copy : copies_)
      value = std::min(value, __atomic_load_n(reinterpret_cast<uint64_t*>(copy), __ATOMIC_ACQUIRE));
    return value;
  }
  void store(uint64_t value) const {
    for (char* copy : copies_) __atomic_store_n(reinterpret_cast<uint64_t*>(copy), value, __ATOMIC_RELEASE);
  }
  void write(size_t offset, const void* data, size_t bytes) const {
    for (char* copy : copies_) memcpy(copy + offset, data, bytes);
  }
  /** What lies there; of multicast the reduction over the devices. */
  void read(size_t offset, void* into, size_t count, size_t element_bytes, const Reduction& reduction) const {
    memcpy(into, copies_[0] + offset, count * element_bytes);
    for (size_t i = 1; i < copies_.size(); i++) reduce_into(reduction, into, copies_[i] + offset, count);
  }
  char* only() const { return copies_[0]; }

 private:
  bool multicast_;
  std::vector<char*> copies_;
};

/** One direction of a connection with one peer. */
struct Lane {
  ncclConnInfo* info;
  int peer;
  uint64_t step;
  Place head, tail, buffer;
};

class Pipe {
 public:
  /** `from` and `to`: peers, ended by -1 or `most`. `step_bytes`: of Simple, 0 for the communicator's own. */
  Pipe(Fibers& fibers, ncclDevChannel& channel, const int* buffer_bytes, Cut cut, const Reduction& reduction,
       size_t element_bytes, std::vector<int> from, std::vector<int> to, int from_connection, int to_connection,
       const void* input, void* output, size_t step_bytes = 0)
      : fibers_(fibers),
        cut_(cut),
        reduction_(reduction),
        element_bytes_(element_bytes),
        input_(static_cast<char*>(const_cast<void*>(input))),
        output_(static_cast<char*>(output)) {
    int protocol = cut.protocol;
    slot_bytes_ = buffer_bytes[protocol] / NCCL_STEPS;
    step_bytes_ = step_bytes ? step_bytes : slot_bytes_;
    for (int peer : from) lanes(from_, &channel.peers[peer]->recv[from_connection], peer);
    for (int peer : to) lanes(to_, &channel.peers[peer]->send[to_connection], peer);
    if (protocol == NCCL_PROTO_SIMPLE)
      for (Lane& lane : from_) lane.head.store(lane.step);  // credits, where the step was rounded up
  }

  ~Pipe() {
    for (Lane& lane : from_) lane.info->step = lane.step;
    for (Lane& lane : to_) lane.info->step = lane.step;
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  enum Buffer { kNone, kInput, kOutput };

  /** One chunk of `count` elements: what is received, and what lies at `source` if that is used, is reduced, goes to
   * the place `target` if that is used, and is sent. Indices are of elements. */
  void chunk(bool receives, bool sends, Buffer source, int64_t source_at, Buffer target, int64_t target_at,
             int64_t count, bool ends = false) {
    count = std::max<int64_t>(count, 0);
    int64_t slice = count;
    if (cut_.protocol == NCCL_PROTO_SIMPLE) {
      int64_t whole = static_cast<int64_t>(step_bytes_ / element_bytes_) * cut_.steps_per_slice;
      slice = std::max((count + 16 * cut_.slices_per_chunk - 1) / (16 * cut_.slices_per_chunk) * 16, whole / 32);
    }
    int64_t offset = 0;
    for (int i = 0; i < cut_.slices_per_chunk; i++) {
      int64_t size = std::min(slice, count - offset);
      one_slice(receives, sends, source, source_at + offset, target, target_at + offset, size, ends);
      offset += size;
    }
  }

  /** One part of `input` to every peer: peer i gets `count` elements from `at + i * stride`, within `total`. */
  void scatter(int64_t at, int64_t total, int64_t count, int64_t stride, int skip = -1) {
    each_peer(to_, true, count, [&](size_t i, int64_t offset, int64_t most) {
      int64_t place = part(i, stride, skip);
      int64_t size = std::max<int64_t>(0, std::min(most, total - place));
      gathered_.assign(input_ + bytes(at + offset + place), input_ + bytes(at + offset + place + size));
      before_reduction(reduction_, gathered_.data(), size);
      write(to_[i], gathered_.data(), size);
    });
  }

  /** The other way: `count` elements of every peer to `at + i * stride` of `output`. */
  void gather(int64_t at, int64_t total, int64_t count, int64_t stride, int skip = -1) {
    each_peer(from_, false, count, [&](size_t i, int64_t offset, int64_t most) {
      int64_t place = part(i, stride, skip);
      int64_t size = std::max<int64_t>(0, std::min(most, total - place));
      if (size > 0) read(from_[i], output_ + bytes(at + offset + place), size);
    });
  }

  size_t bytes(int64_t elements) const { return static_cast<size_t>(elements) * element_bytes_; }

 private:
  static constexpr size_t kLineWords = NCCL_LL128_LINEELEMS, kLineData = NCCL_LL128_DATAELEMS;

  void lanes(std::vector<Lane>& into, ncclConnInfo* info, int peer) {
    uint64_t unit = cut_.protocol == NCCL_PROTO_SIMPLE ? cut_.slices_per_chunk * cut_.steps_per_slice : 1;
    into.push_back({info, peer, (info->step + unit - 1) / unit * unit, Place(info->head), Place(info->tail),
                    Place(info->buffs[cut_.protocol])});
  }

  static int64_t part(size_t i, int64_t stride, int skip) {
    return (static_cast<int64_t>(i) + (skip >= 0 && static_cast<int>(i) >= skip)) * stride;
  }

  void one_slice(bool receives, bool sends, Buffer source, int64_t source_at, Buffer target, int64_t target_at,
                 int64_t size, bool ends) {
    if (sends)
      for (Lane& lane : to_) wait_for_slot(lane, size);
    bool any = size > 0 || cut_.protocol == NCCL_PROTO_SIMPLE;
    if (receives && any)
      for (Lane& lane : from_) wait_for_data(lane, size);
    if (size > 0 && !fibers_.aborted()) {
      std::vector<char> data(bytes(size)), other(bytes(size));
      bool filled = source != kNone;
      if (filled) memcpy(data.data(), buffer(source) + bytes(source_at), data.size());
      if (source == kInput) before_reduction(reduction_, data.data(), size);
      for (Lane& lane : from_) {
        if (!receives) break;
        read(lane, (filled ? other : data).data(), size);
        if (filled) reduce_into(reduction_, data.data(), other.data(), size);
        filled = true;
      }
      if (ends) after_reduction(reduction_, data.data(), size);
      if (target != kNone) memcpy(buffer(target) + bytes(target_at), data.data(), data.size());
      if (sends)
        for (Lane& lane : to_) write(lane, data.data(), size);
    }
    if (receives)
      for (Lane& lane : from_) post_received(lane);
    if (sends)
      for (Lane& lane : to_) post_sent(lane, size);
  }

  template <typename Do>
  void each_peer(std::vector<Lane>& lanes, bool sends, int64_t count, const Do& move) {
    int64_t whole = static_cast<int64_t>(step_bytes_ / element_bytes_) * cut_.steps_per_slice;
    int64_t slice = std::max((count + 16 * cut_.slices_per_chunk - 1) / (16 * cut_.slices_per_chunk) * 16, whole / 32);
    int64_t offset = 0;
    for (int s = 0; s < cut_.slices_per_chunk; s++) {
      int64_t most = std::max<int64_t>(0, std::min(slice, count - offset));
      for (Lane& lane : lanes) sends ? wait_for_slot(lane, most) : wait_for_data(lane, most);
      if (fibers_.aborted()) return;
      for (size_t i = 0; i < lanes.size(); i++) move(i, offset, most);
      for (Lane& lane : lanes) sends ? post_sent(lane, most) : post_received(lane);
      offset += most;
    }
  }

  char* buffer(Buffer which) const { return which == kInput ? input_ : output_; }
  uint64_t steps() const { return cut_.protocol == NCCL_PROTO_SIMPLE ? cut_.steps_per_slice : 1; }

  size_t lines(int64_t size) const { return (bytes(size) + 7) / 8; }
  size_t wire_lines(int64_t size) const {  // LL128: whole slices of a warp
    constexpr size_t words = WARP_SIZE * NCCL_LL128_SHMEM_ELEMS_PER_THREAD;
    size_t data = (words - words / kLineWords) * 8;
    return (bytes(size) + data - 1) / data * words / kLineWords;
  }

  void wait_for_slot(Lane& lane, int64_t size) {
    fibers_.wait([&] { return lane.head.least() + NCCL_STEPS >= lane.step + steps(); }, "room to send to", lane.peer,
                 lane.step);
    ncclConnFifo* fifo = lane.info->connFifo;
    if (!fifo) return;
    size_t wire = bytes(size);
    if (cut_.protocol == NCCL_PROTO_LL)
      wire =
          (lane.step & NCCL_LL_CLEAN_MASK) == NCCL_LL_CLEAN_MASK ? slot_bytes_ : lines(size) * sizeof(ncclLLFifoLine);
    if (cut_.protocol == NCCL_PROTO_LL128) wire = wire_lines(size) * kLineWords * 8;
    reinterpret_cast<volatile ncclConnFifo*>(fifo)[lane.step % NCCL_STEPS].size = wire;
  }

  void wait_for_data(Lane& lane, int64_t size) {
    const char* what = "data of";
    if (cut_.protocol == NCCL_PROTO_SIMPLE) {
      fibers_.wait([&] { return lane.tail.least() >= lane.step + steps(); }, what, lane.peer, lane.step);
    } else if (cut_.protocol == NCCL_PROTO_LL) {
      auto* slot = reinterpret_cast<volatile ncclLLFifoLine*>(slot_of(lane));
      auto flag = static_cast<uint32_t>(lane.step + 1);
      for (size_t i = 0; i < lines(size); i++)
        if (!fibers_.wait([&] { return slot[i].flag1 == flag && slot[i].flag2 == flag; }, what, lane.peer, lane.step))
          return;
    } else {
      auto* slot = reinterpret_cast<volatile uint64_t*>(slot_of(lane));
      for (size_t i = 0; i < wire_lines(size); i++)
        if (!fibers_.wait([&] { return slot[i * kLineWords + kLineData] == lane.step + 1; }, what, lane.peer,
                          lane.step))
          return;
    }
    std::atomic_thread_fence(std::memory_order_acquire);
  }

  size_t slot_offset(const Lane& lane) const {
    if (cut_.protocol != NCCL_PROTO_SIMPLE) return lane.step % NCCL_STEPS * slot_bytes_;
    ncclConnFifo* fifo = lane.info->connFifo;
    if (fifo && fifo[lane.step % NCCL_STEPS].mode == NCCL_MODE_OFFSET)
      return *reinterpret_cast<volatile int*>(&fifo[lane.step % NCCL_STEPS].offset);
    return lane.step % NCCL_STEPS * static_cast<size_t>(lane.info->stepSize);
  }
  char* slot_of(const Lane& lane) const { return lane.buffer.only() + slot_offset(lane); }

  void read(const Lane& lane, void* into, int64_t size) {
    if (cut_.protocol == NCCL_PROTO_SIMPLE) {
      lane.buffer.read(slot_offset(lane), into, size, element_bytes_, reduction_);
      return;
    }
    auto* out = static_cast<char*>(into);
    size_t left = bytes(size);
    if (cut_.protocol == NCCL_PROTO_LL) {
      auto* slot = reinterpret_cast<ncclLLFifoLine*>(slot_of(lane));
      for (size_t i = 0; left > 0; i++, out += 8, left -= std::min<size_t>(left, 8)) {
        uint32_t words[2] = {slot[i].data1, slot[i].data2};
        memcpy(out, words, std::min<size_t>(left, 8));
      }
    } else {
      auto* slot = reinterpret_cast<uint64_t*>(slot_of(lane));
      constexpr size_t line = kLineData * 8;
      for (size_t i = 0; left > 0; i++, out += line, left -= std::min(left, line))
        memcpy(out, slot + i * kLineWords, std::min(left, line));
    }
  }

  void write(const Lane& lane, const void* data, int64_t size) {
    if (cut_.protocol == NCCL_PROTO_SIMPLE) {
      lane.buffer.write(slot_offset(lane), data, bytes(size));
      return;
    }
    const auto* in = static_cast<const char*>(data);
    size_t left = bytes(size);
    if (cut_.protocol == NCCL_PROTO_LL) {
      auto* slot = reinterpret_cast<volatile ncclLLFifoLine*>(slot_of(lane));
      auto flag = static_cast<uint32_t>(lane.step + 1);
      for (size_t i = 0; i < lines(size); i++, in += 8, left -= std::min<size_t>(left, 8)) {
        uint32_t words[2] = {0, 0};
        memcpy(words, in, std::min<size_t>(left, 8));
        put_line(slot[i], words, flag);
      }
    } else {
      auto* slot = reinterpret_cast<uint64_t*>(slot_of(lane));
      constexpr size_t line = kLineData * 8;
      for (size_t i = 0; i < wire_lines(size); i++) {
        size_t now = std::min(left, line);
        memcpy(slot + i * kLineWords, in, now);
        __atomic_store_n(slot + i * kLineWords + kLineData, lane.step + 1, __ATOMIC_RELEASE);
        in += now;
        left -= now;
      }
    }
  }

  static void put_line(volatile ncclLLFifoLine& line, const uint32_t* words, uint32_t flag) {
    line.data1 = words[0];
    line.data2 = words[1];
    std::atomic_thread_fence(std::memory_order_release);
    line.flag1 = flag;
    line.flag2 = flag;
  }

  void post_received(Lane& lane) {
    lane.step += steps();
    std::atomic_thread_fence(std::memory_order_seq_cst);
    lane.head.store(lane.step);
  }

  void post_sent(Lane& lane, int64_t size) {
    bool cleans = cut_.protocol == NCCL_PROTO_LL && (lane.step & NCCL_LL_CLEAN_MASK) == NCCL_LL_CLEAN_MASK;
    if (cleans) {
      auto* slot = reinterpret_cast<volatile ncclLLFifoLine*>(slot_of(lane));
      const uint32_t nothing[2] = {0, 0};
      for (size_t i = lines(size); i < slot_bytes_ / sizeof(ncclLLFifoLine); i++)
        put_line(slot[i], nothing, static_cast<uint32_t>(lane.step + 1));
    }
    lane.step += steps();
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (cut_.protocol != NCCL_PROTO_LL) lane.tail.store(lane.step);
  }

  Fibers& fibers_;
  Cut cut_;
  Reduction reduction_;
  size_t element_bytes_;
  char* input_;
  char* output_;
  size_t slot_bytes_;
  size_t step_bytes_;
  std::vector<Lane> from_, to_;
  std::vector<char> gathered_;
};

}  // namespace hocket::stand_in
