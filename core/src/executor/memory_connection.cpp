#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "connection.hpp"
#include "hocket/error.hpp"

namespace hocket::executor {
namespace {

/// In each direction: as much as a rank sends ahead, and small enough to stay in a core's caches.
constexpr int64_t kRingBytes = 1 << 20;
/// A multiple of any page size.
constexpr int64_t kControlBytes = 1 << 16;

/// Where two ranks are with the bytes of one direction. A rank that sleeps wants to be woken by what comes next.
struct Control {
  alignas(64) std::atomic<int64_t> sent;
  std::atomic<bool> sender_sleeps;
  alignas(64) std::atomic<int64_t> taken;
  std::atomic<bool> receiver_sleeps;
};
static_assert(std::atomic<int64_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

/// Both directions' controls and bytes. The bytes of each are mapped twice, one after the other, so that what goes on
/// at the front of a ring lies behind its end.
/// That "magic ring" lets every look and every reduction see one contiguous range.
class SharedMemory {
 public:
  explicit SharedMemory(const Descriptor& memory) {
    void* const place = mmap(nullptr, kMapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED) throw Error(reason());
    start_ = static_cast<std::byte*>(place);
    map(memory, 0, 0, kControlBytes);
    for (const int ring : {0, 1}) {
      for (const int copy : {0, 1}) {
        map(memory, kControlBytes + ring * kRingBytes, kControlBytes + (2 * ring + copy) * kRingBytes, kRingBytes);
      }
    }
  }
  ~SharedMemory() { munmap(start_, kMapped); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  Control& control(int ring) const { return reinterpret_cast<Control*>(start_)[ring]; }
  std::byte* bytes(int ring) const { return start_ + kControlBytes + 2 * ring * kRingBytes; }

 private:
  static constexpr int64_t kMapped = kControlBytes + 4 * kRingBytes;

  static std::string reason() {
    return std::string("cannot map shared memory: ") + std::strerror(errno) +
           "; HOCKET_ALGORITHMS_TRANSPORT=tcp does without";
  }

  void map(const Descriptor& memory, int64_t from, int64_t to, int64_t count) {
    if (mmap(start_ + to, count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory.get(), from) == MAP_FAILED) {
      const std::string why = reason();
      munmap(start_, kMapped);
      throw Error(why);
    }
  }

  std::byte* start_;
};

/// A single-producer single-consumer ring in each direction. `sent` and `taken` only grow, each written by one side:
/// what lies between them is the reader's, the rest the writer's. The socket carries only bells, and its end is the
/// peer's end, even when that was killed.
class MemoryConnection final : public Connection {
 public:
  MemoryConnection(Descriptor socket, const Descriptor& memory, bool first, int32_t peer)
      : socket_(std::move(socket)),
        peer_(peer),
        memory_(memory),
        out_(memory_.control(first ? 0 : 1)),
        in_(memory_.control(first ? 1 : 0)),
        out_bytes_(memory_.bytes(first ? 0 : 1)),
        in_bytes_(memory_.bytes(first ? 1 : 0)) {}

  int64_t send(std::span<const iovec> parts) override {
    if (ended_) lose(peer_, "closed");
    int64_t count = 0;
    // Relaxed for what this side alone writes; the peer's counter, and the store that publishes, are sequentially
    // consistent, which `asleep` needs.
    const int64_t position = out_.sent.load(std::memory_order_relaxed), free = room();
    for (const iovec& part : parts) {
      const int64_t next = std::min(static_cast<int64_t>(part.iov_len), free - count);
      if (next > 0) std::memcpy(out_bytes_ + (position + count) % kRingBytes, part.iov_base, next);
      count += next;
    }
    if (count > 0) {
      out_.sent = position + count;
      wake(out_.receiver_sleeps);
    }
    return count;
  }

  int64_t receive(std::span<const iovec> parts) override {
    const std::span<const std::byte> there = look();
    int64_t count = 0;
    for (const iovec& part : parts) {
      const int64_t next = std::min(part.iov_len, there.size() - count);
      if (next > 0) std::memcpy(part.iov_base, there.data() + count, next);
      count += next;
    }
    take(count);
    return count;
  }

  std::span<const std::byte> look() override {
    const int64_t position = in_.taken.load(std::memory_order_relaxed);
    const int64_t count = in_.sent - position;
    if (count == 0 && ended_) lose(peer_, "closed");
    return {in_bytes_ + position % kRingBytes, static_cast<size_t>(count)};
  }

  void take(int64_t count) override {
    if (count == 0) return;
    in_.taken = in_.taken.load(std::memory_order_relaxed) + count;
    wake(in_.sender_sleeps);
  }

  std::optional<pollfd> asleep(bool to_receive, bool to_send) override {
    // Dekker's pattern: each stores its own flag and then loads the other's, so a bell cannot get lost between them.
    // In this order, and the peer's in the other: one of the two sees what the other did.
    if (to_receive) in_.receiver_sleeps = true;
    if (to_send) out_.sender_sleeps = true;
    const bool something = (to_receive && in_.sent != in_.taken) || (to_send && room() > 0);
    if (something || ended_) return std::nullopt;
    return pollfd{socket_.get(), POLLIN, 0};
  }

  void awake(short found) override {
    in_.receiver_sleeps.store(false, std::memory_order_relaxed);
    out_.sender_sleeps.store(false, std::memory_order_relaxed);
    if (found == 0) return;
    char bells[64];
    ssize_t count;
    while ((count = recv(socket_.get(), bells, sizeof bells, 0)) > 0) continue;
    ended_ = count == 0 || (errno != EAGAIN && errno != EINTR);
  }

  bool is_memory() const override { return true; }

  void end() noexcept override { shutdown(socket_.get(), SHUT_RDWR); }

 private:
  int64_t room() const { return kRingBytes - (out_.sent.load(std::memory_order_relaxed) - out_.taken); }

  /// A peer that has many bells to hear needs no other, and one that is gone is noticed by who waits for it.
  void wake(std::atomic<bool>& sleeps) const {
    if (sleeps && sleeps.exchange(false)) static_cast<void>(::send(socket_.get(), "", 1, MSG_NOSIGNAL));
  }

  Descriptor socket_;
  int32_t peer_;
  SharedMemory memory_;
  Control& out_;
  Control& in_;
  std::byte* out_bytes_;
  std::byte* in_bytes_;
  bool ended_ = false;
};

}  // namespace

Descriptor create_shared_memory() {
  Descriptor memory(memfd_create("hocket", MFD_CLOEXEC));
  if (memory && ftruncate(memory.get(), kControlBytes + 2 * kRingBytes) != 0) return Descriptor();
  return memory;
}

std::unique_ptr<Connection> over_memory(Descriptor socket, const Descriptor& memory, bool first, int32_t peer) {
  return std::make_unique<MemoryConnection>(std::move(socket), memory, first, peer);
}

}  // namespace hocket::executor
