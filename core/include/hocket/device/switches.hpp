#pragma once

#include "hocket/device/elements.hpp"
#include "hocket/device/table.hpp"

// Runs one thread block of a collective whose chunks are added and copied on the way between ranks: by the switches of
// NVLink (multimem), or, where there is no multicast address or no such instruction, by plain reads and writes of all
// ranks' windows. One source for GPUs and for threads of processors, which is what the first is held against.
//
// Each chunk has a head. All ranks put what they have of it into their own window; they meet; its head reads the sum of
// all windows there, and writes it to all; they meet; each takes it from its own window. A block does one share of each
// chunk's bytes, in all three parts and on every rank, so it meets those of its number on other ranks alone.
//
// Memory order, beside the litmus test that it is:
// - message passing: a rank's contribution, release of its word in each window | acquire of all words in one's own
//   window, the head's reads. Likewise the head's writes and the ranks that take the result.
// - load buffering: a window is read, by its rank that takes the result or by a head that adds, release | acquire, and
//   written anew in the next slice, or the next call: behind the meeting that follows the read.
// Lane p does this for peer p; the others meet it before a release, and after an acquire. Multicast addresses are other
// addresses of the same memory: a fence between such aliases stands before each release and behind each acquire.

namespace hocket::device {

/// What lies at one place of the windows: chunks of one head. The chunks of this rank's input that belong there, and of
/// its output that are taken from there; -1: none.
struct RunRow {
  int32_t head;
  int32_t first;  ///< chunk in the windows
  int32_t count;
  int32_t input;
  int32_t output;
};

/// Where in each rank's window, from `place` on: for each block and peer a line with how often that peer has come there
/// and in which call it is; then the chunks.
struct SwitchWindow {
  int64_t place;         ///< behind the line in which who gives up says so; a multiple of `kLineBytes`
  int64_t chunk_bytes;   ///< a multiple of a pack
  int64_t stripe_bytes;  ///< that a block does at a time: a multiple of what its lanes do at once
  int32_t chunks;
  int32_t blocks;
  int32_t ranks;

  HOCKET_DEVICE int64_t word(int32_t block, int32_t peer) const {
    return place + (static_cast<int64_t>(block) * ranks + peer) * kLineBytes;
  }
  HOCKET_DEVICE int64_t chunk(int32_t number) const { return word(blocks, 0) + number * chunk_bytes; }
  HOCKET_DEVICE int64_t end() const { return chunk(chunks); }
};

/// One call on one rank. Chunks are gone through in slices that fit the windows.
struct SwitchLaunch {
  uint8_t* const* windows;  ///< of all ranks, as this rank reaches them
  uint8_t* multicast;       ///< of all at once; null: there is no such address
  SwitchWindow window;
  const RunRow* runs;
  uint8_t* buffers[2];  ///< input, output
  uint64_t* failure;    ///< of this rank, 0: none, else a `Failure`
  uint64_t* met;        ///< meetings of each block in all calls before, each in a line of its own
  int64_t chunk_bytes;  ///< in whole elements
  uint64_t signature;   ///< what all ranks of the call must agree on
  uint64_t timeout_ns;
  int32_t num_runs;
  int32_t rank;
  uint8_t adds;     ///< ranks' parts are added; else the head has all of a chunk
  uint8_t spreads;  ///< all ranks take it; else its head alone
};

// The host's compiler and the GPU's lay them out alike.
static_assert(sizeof(RunRow) == 20 && sizeof(SwitchWindow) == 40);
static_assert(sizeof(SwitchLaunch) == 136 && alignof(SwitchLaunch) == 8);

/// What the lanes of a block share.
struct SwitchMemory {
  int32_t stopped;  ///< by any lane
};

/// Whether switches add such elements. What they add they add as floats, and round once.
template <typename A>
struct Switched {
  static constexpr bool kAdds = false;
  HOCKET_DEVICE static Pack read_sum(const uint8_t*) { return {}; }
};

#if HOCKET_ON_GPU && defined(__CUDACC__) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define HOCKET_MULTIMEM 1

template <>
struct Switched<Arithmetic<Plain<float>, Sum>> {
  static constexpr bool kAdds = true;
  HOCKET_DEVICE static Pack read_sum(const uint8_t* place) {
    float sum[4];
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(sum[0]), "=f"(sum[1]), "=f"(sum[2]), "=f"(sum[3])
                 : "l"(place)
                 : "memory");
    return {
        {bits_as<uint32_t>(sum[0]), bits_as<uint32_t>(sum[1]), bits_as<uint32_t>(sum[2]), bits_as<uint32_t>(sum[3])}};
  }
};

template <>
struct Switched<Arithmetic<Float16, Sum>> {
  static constexpr bool kAdds = true;
  HOCKET_DEVICE static Pack read_sum(const uint8_t* place) {
    Pack sum;
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.f16x2 {%0, %1, %2, %3}, [%4];"
                 : "=r"(sum.words[0]), "=r"(sum.words[1]), "=r"(sum.words[2]), "=r"(sum.words[3])
                 : "l"(place)
                 : "memory");
    return sum;
  }
};

template <>
struct Switched<Arithmetic<Bfloat16, Sum>> {
  static constexpr bool kAdds = true;
  HOCKET_DEVICE static Pack read_sum(const uint8_t* place) {
    Pack sum;
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.bf16x2 {%0, %1, %2, %3}, [%4];"
                 : "=r"(sum.words[0]), "=r"(sum.words[1]), "=r"(sum.words[2]), "=r"(sum.words[3])
                 : "l"(place)
                 : "memory");
    return sum;
  }
};

/// To all ranks' windows at once: 16 bytes as they are, whatever their type.
HOCKET_DEVICE void store_everywhere(uint8_t* place, const Pack& value) {
  asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(place),
               "f"(bits_as<float>(value.words[0])), "f"(bits_as<float>(value.words[1])),
               "f"(bits_as<float>(value.words[2])), "f"(bits_as<float>(value.words[3]))
               : "memory");
}
HOCKET_DEVICE void fence_aliases() { asm volatile("fence.proxy.alias;" ::: "memory"); }
#else
#define HOCKET_MULTIMEM 0
#endif

/// One block's way through a call, as one of its lanes goes it. `A`: an `Arithmetic`.
template <typename A>
class SwitchWalk {
 public:
  HOCKET_DEVICE SwitchWalk(const SwitchLaunch& launch, int32_t number, const Lanes& lanes, SwitchMemory& shared)
      : launch_(launch), number_(number), lanes_(lanes), shared_(shared) {}

  HOCKET_DEVICE void run() {
    if (lanes_.lane() == 0) shared_.stopped = load_acquire(launch_.failure) != 0;
    met_ = launch_.met[number_ * kWordStride];
    lanes_.meet();
    if (shared_.stopped != 0) return;
    for (; done_ < launch_.chunk_bytes; done_ += launch_.window.chunk_bytes) {
      bytes_ = launch_.chunk_bytes - done_;
      if (bytes_ > launch_.window.chunk_bytes) bytes_ = launch_.window.chunk_bytes;
      if (launch_.adds != 0) give();
      if (!meet()) return;
      drive();
      if (!meet()) return;
      if (launch_.spreads != 0) take();
    }
    lanes_.meet();
    if (lanes_.lane() == 0) launch_.met[number_ * kWordStride] = met_;
  }

 private:
  static constexpr int32_t kLooks = 256;  ///< at a word before one looks around
  static constexpr int64_t kPack = sizeof(Pack);

  // --- Meetings ------------------------------------------------------------------------------------------------------

  /// The blocks of this number on all ranks wait for each other. False: one did not come, or is in another call.
  HOCKET_DEVICE bool meet() {
    met_++;
    lanes_.meet();  // all lanes are through with what they read and wrote
    disturb();
    between_aliases();
    for (int32_t peer = lanes_.lane(); peer < launch_.window.ranks; peer += lanes_.count()) {
      uint64_t* const word = word_of(launch_.windows[peer], launch_.window.word(number_, launch_.rank));
      store_relaxed(word + signature_word(), launch_.signature);
      store_release(word, met_);
    }
    for (int32_t peer = lanes_.lane(); peer < launch_.window.ranks; peer += lanes_.count()) await(peer);
    between_aliases();
    lanes_.meet();
    const bool goes_on = shared_.stopped == 0;
    lanes_.meet();  // before someone says something else
    return goes_on;
  }

  /// A peer may have come to the next meeting, but to none behind it.
  HOCKET_DEVICE int32_t signature_word() const { return 1 + static_cast<int32_t>(met_ % 2); }

  HOCKET_DEVICE void await(int32_t peer) {
    const uint64_t* const word = word_of(own_window(), launch_.window.word(number_, peer));
    uint64_t since = 0;
    for (int32_t looks = 1; load_acquire(word) < met_; looks++) {
      if (looks % kLooks == 0 && must_leave(&since, peer)) return;
      give_way(looks);
    }
    if (load_relaxed(word + signature_word()) != launch_.signature) fail(Reason::kOtherCall, peer);
  }

  HOCKET_DEVICE bool must_leave(uint64_t* since, int32_t peer) {
    const uint64_t gave_up = load_relaxed(word_of(own_window(), 0));
    if (gave_up != 0) {
      const Reason why = gave_up >= kDied ? Reason::kPeerDied : Reason::kPeerGaveUp;
      return fail(why, static_cast<int32_t>(gave_up & (kDied - 1)) - 1);
    }
    const uint64_t now = clock_ns();
    if (*since == 0) *since = now;
    // whoever waits itself has come, so the one that is waited for is the one that is missing
    return now - *since > launch_.timeout_ns && fail(Reason::kNotBegun, peer);
  }

  HOCKET_DEVICE bool fail(Reason reason, int32_t peer) {
    const Failure failure{reason, peer, number_, static_cast<int32_t>(met_)};
    if (claim(launch_.failure, failure.word())) {
      for (int32_t rank = 0; rank < launch_.window.ranks; rank++) {
        claim(word_of(launch_.windows[rank], 0), static_cast<uint64_t>(launch_.rank) + 1);
      }
    }
#if HOCKET_ON_GPU
    *const_cast<volatile int32_t*>(&shared_.stopped) = 1;
#else
    std::atomic_ref(shared_.stopped).store(1, std::memory_order_relaxed);
#endif
    return true;
  }

  HOCKET_DEVICE void between_aliases() const {
#if HOCKET_MULTIMEM
    if (launch_.multicast != nullptr) fence_aliases();
#endif
  }

  // --- The three parts -----------------------------------------------------------------------------------------------

  /// This rank's contributions into its own window.
  HOCKET_DEVICE void give() const {
    for (int32_t at = 0; at < launch_.num_runs; at++) {
      const RunRow run = launch_.runs[at];
      if (run.input < 0) continue;
      for (int32_t k = 0; k < run.count; k++) {
        copy(source(run.input + k), own_window() + launch_.window.chunk(run.first + k));
      }
    }
  }

  /// What this rank is the head of.
  HOCKET_DEVICE void drive() const {
    for (int32_t at = 0; at < launch_.num_runs; at++) {
      const RunRow run = launch_.runs[at];
      if (run.head != launch_.rank) continue;
      for (int32_t k = 0; k < run.count; k++) drive_chunk(run, k);
    }
  }

  HOCKET_DEVICE void drive_chunk(const RunRow& run, int32_t k) const {
    const int64_t place = launch_.window.chunk(run.first + k);
    const uint8_t* const own = launch_.adds != 0 ? nullptr : source(run.input + k);
    uint8_t* const kept = launch_.spreads != 0 ? nullptr : target(run.output + k);
    for (int64_t at = begin(); at < bytes_; at = after(at)) {
      const Pack value = own == nullptr ? read_sum(place + at) : load_part(own + at, bytes_ - at);
      if (kept != nullptr) {
        store_part(kept + at, bytes_ - at, value);
      } else {
        write_everywhere(place + at, value);
      }
    }
  }

  /// Results from this rank's window.
  HOCKET_DEVICE void take() const {
    for (int32_t at = 0; at < launch_.num_runs; at++) {
      const RunRow run = launch_.runs[at];
      if (run.output < 0) continue;
      for (int32_t k = 0; k < run.count; k++) {
        copy(own_window() + launch_.window.chunk(run.first + k), target(run.output + k));
      }
    }
  }

  // --- All windows at once -------------------------------------------------------------------------------------------

  /// 16 bytes of the sum of all windows at a place: computed wide, in the order of the ranks, and rounded once.
  HOCKET_DEVICE Pack read_sum(int64_t place) const {
#if HOCKET_MULTIMEM
    if constexpr (Switched<A>::kAdds) {
      if (launch_.multicast != nullptr) return Switched<A>::read_sum(launch_.multicast + place);
    }
#endif
    constexpr int32_t kCount = sizeof(Pack) / sizeof(typename A::Stored);
    union Elements {
      Pack pack;
      typename A::Stored each[kCount];
    };
    typename A::Wide sum[kCount];
    const Elements first{load_unit<Pack>(launch_.windows[0] + place)};
#if HOCKET_ON_GPU
#pragma unroll
#endif
    for (int32_t k = 0; k < kCount; k++) sum[k] = A::widened(first.each[k]);
    for (int32_t rank = 1; rank < launch_.window.ranks; rank++) {
      const Elements part{load_unit<Pack>(launch_.windows[rank] + place)};
#if HOCKET_ON_GPU
#pragma unroll
#endif
      for (int32_t k = 0; k < kCount; k++) sum[k] = A::combine_wide(sum[k], A::widened(part.each[k]));
    }
    Elements result;
#if HOCKET_ON_GPU
#pragma unroll
#endif
    for (int32_t k = 0; k < kCount; k++) result.each[k] = A::narrowed(sum[k]);
    return result.pack;
  }

  HOCKET_DEVICE void write_everywhere(int64_t place, const Pack& value) const {
#if HOCKET_MULTIMEM
    if (launch_.multicast != nullptr) return store_everywhere(launch_.multicast + place, value);
#endif
    for (int32_t rank = 0; rank < launch_.window.ranks; rank++) store_unit(launch_.windows[rank] + place, value);
  }

  // --- Memory --------------------------------------------------------------------------------------------------------

  HOCKET_DEVICE static uint64_t* word_of(uint8_t* window, int64_t place) {
    return reinterpret_cast<uint64_t*>(window + place);
  }
  HOCKET_DEVICE uint8_t* own_window() const { return launch_.windows[launch_.rank]; }
  HOCKET_DEVICE const uint8_t* source(int32_t chunk) const {
    return launch_.buffers[0] + chunk * launch_.chunk_bytes + done_;
  }
  HOCKET_DEVICE uint8_t* target(int32_t chunk) const {
    return launch_.buffers[1] + chunk * launch_.chunk_bytes + done_;
  }

  // This block's part of a slice of a chunk: every so many stripes, as in every other slice and call.
  HOCKET_DEVICE int64_t begin() const { return launch_.window.stripe_bytes * number_ + kPack * lanes_.lane(); }
  HOCKET_DEVICE int64_t after(int64_t at) const {
    const int64_t step = kPack * lanes_.count(), then = at + step, stripe = launch_.window.stripe_bytes;
    return then % stripe < step ? then + stripe * (launch_.window.blocks - 1) : then;
  }

  HOCKET_DEVICE void copy(const uint8_t* from, uint8_t* to) const {
    for (int64_t at = begin(); at < bytes_; at = after(at))
      store_part(to + at, bytes_ - at, load_part(from + at, bytes_ - at));
  }

  /// A pack from anywhere; what lies behind the first `bytes` is not read, and 0.
  HOCKET_DEVICE static Pack load_part(const uint8_t* from, int64_t bytes) {
    if (bytes >= kPack && may_hold<Pack>(from)) return load_unit<Pack>(from);
    union {
      Pack pack;
      typename A::Stored each[sizeof(Pack) / sizeof(typename A::Stored)];
    } part{};
    for (int32_t k = 0; k * A::kBytes < kPack && k * A::kBytes < bytes; k++) {
      part.each[k] = load_unit<typename A::Stored>(from + k * A::kBytes);
    }
    return part.pack;
  }
  HOCKET_DEVICE static void store_part(uint8_t* to, int64_t bytes, const Pack& value) {
    if (bytes >= kPack && may_hold<Pack>(to)) return store_unit(to, value);
    const union {
      Pack pack;
      typename A::Stored each[sizeof(Pack) / sizeof(typename A::Stored)];
    } part{value};
    for (int32_t k = 0; k * A::kBytes < kPack && k * A::kBytes < bytes; k++) {
      store_unit(to + k * A::kBytes, part.each[k]);
    }
  }

  const SwitchLaunch& launch_;
  const int32_t number_;
  const Lanes lanes_;
  SwitchMemory& shared_;
  uint64_t met_ = 0;   ///< so often has this block met the others
  int64_t done_ = 0;   ///< bytes of each chunk that are through
  int64_t bytes_ = 0;  ///< of this slice of a chunk
};

}  // namespace hocket::device
