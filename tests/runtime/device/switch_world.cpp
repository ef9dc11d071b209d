// Runs collectives whose chunks are added and copied on the way, all ranks, blocks and lanes as threads of this process
// that stop at random: for ThreadSanitizer and the sanitizer of alignment. `switch_world KIND SEEDS`, KIND one of the
// collectives below, `absent` (a rank does not come) or `other` (a rank is in another call).

#include <algorithm>
#include <barrier>
#include <chrono>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "hocket/device/switches.hpp"

namespace hocket::device {
namespace {

thread_local std::minstd_rand stops{1};

}  // namespace

void give_way(int32_t) { std::this_thread::yield(); }
void disturb() {
  if (stops() % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(stops() % 100));
}

namespace {

using Element = int16_t;

constexpr int32_t kRanks = 4;
constexpr int32_t kBlocks = 3;
constexpr int32_t kPerRank = 2;                 ///< chunks of which a rank is the head
constexpr int32_t kChunks = kRanks * kPerRank;  ///< of the whole buffer
constexpr int64_t kElements = 603;              ///< of a chunk: some begin at odd places, and take several slices
constexpr int64_t kSliceBytes = 256;
constexpr int64_t kStripeBytes = 32;  ///< two lanes' packs
constexpr int32_t kCalls = 3;

struct Collective {
  bool adds, spreads, small_input, small_output, in_place;
  std::function<int32_t(int32_t chunk)> head;
};

int32_t owner(int32_t chunk) { return chunk / kPerRank; }

Collective named(const std::string& kind) {
  const bool in_place = kind.ends_with("_in_place");
  const std::string name = kind.substr(0, kind.find("_in_place"));
  if (name == "reduce_scatter") return {true, false, false, true, in_place, owner};
  if (name == "all_gather") return {false, true, true, false, in_place, owner};
  if (name == "broadcast") return {false, true, false, false, in_place, [](int32_t) { return 1; }};
  return {true, true, false, false, in_place, owner};
}

std::vector<RunRow> runs_of(const Collective& collective, int32_t rank) {
  std::vector<RunRow> runs;
  for (int32_t chunk = 0; chunk < kChunks; chunk += kPerRank) {
    const int32_t head = collective.head(chunk), own = chunk - rank * kPerRank;
    const bool gives = collective.adds || head == rank, takes = collective.spreads || head == rank;
    runs.push_back({head, chunk, kPerRank, gives ? (collective.small_input ? own : chunk) : -1,
                    takes ? (collective.small_output ? own : chunk) : -1});
  }
  return runs;
}

/// Three bits for each rank's contribution: a sum tells how often each is in it.
Element value_of(int32_t rank, int64_t k, int32_t call) {
  return static_cast<Element>((1 + (k + rank + call) % 6) << 3 * rank);
}

struct Rank {
  std::vector<Pack> window;
  std::vector<uint64_t> words = std::vector<uint64_t>(kWordStride * (1 + kBlocks));
  std::vector<Element> first, second;
};

/// Throws where an element of a rank's output is not what the collective says.
void check(const Collective& collective, int32_t rank, const Element* output, int32_t call) {
  const int32_t chunks = collective.small_output ? kPerRank : kChunks;
  for (int64_t k = 0; k < chunks * kElements; k++) {
    const int64_t whole = k + (collective.small_output ? rank * kPerRank * kElements : 0);
    Element right = 0;
    if (collective.adds) {
      for (int32_t from = 0; from < kRanks; from++) right += value_of(from, whole, call);
    } else {
      right = value_of(collective.head(static_cast<int32_t>(whole / kElements)), whole, call);
    }
    if (output[k] != right) {
      throw std::runtime_error("rank " + std::to_string(rank) + " element " + std::to_string(k) + " is " +
                               std::to_string(output[k]) + " for " + std::to_string(right));
    }
  }
}

/// One call of a rank, each lane of each block a thread.
void run(const SwitchLaunch& launch, int32_t lanes, uint64_t seed) {
  std::vector<SwitchMemory> memories(launch.window.blocks);
  std::vector<std::unique_ptr<std::barrier<>>> meetings;
  std::vector<std::thread> threads;
  for (int32_t block = 0; block < launch.window.blocks; block++) {
    meetings.push_back(std::make_unique<std::barrier<>>(lanes));
  }
  for (int32_t block = 0; block < launch.window.blocks; block++) {
    for (int32_t lane = 0; lane < lanes; lane++) {
      threads.emplace_back([&, block, lane] {
        stops.seed(static_cast<uint32_t>(seed * 1009 + launch.rank * 101 + block * 31 + lane + 1));
        const auto wait = [](void* place) { static_cast<std::barrier<>*>(place)->arrive_and_wait(); };
        const Lanes own{lane, lanes, wait, meetings[block].get()};
        SwitchWalk<Arithmetic<Plain<Element>, Sum>>(launch, block, own, memories[block]).run();
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
}

void run_world(const std::string& kind, int32_t lanes, uint64_t seed) {
  const Collective collective = named(kind);
  const bool one_is_absent = kind == "absent", one_is_elsewhere = kind == "other";
  const SwitchWindow window{kLineBytes, kSliceBytes, kStripeBytes, kChunks, kBlocks, kRanks};
  std::vector<Rank> ranks(kRanks);
  std::vector<uint8_t*> windows;
  for (Rank& rank : ranks) {
    rank.window.resize(window.end() / sizeof(Pack));
    windows.push_back(reinterpret_cast<uint8_t*>(rank.window.data()));
  }
  std::vector<std::thread> threads;
  std::vector<std::string> wrong(kRanks);
  for (int32_t number = 0; number < kRanks; number++) {
    if (one_is_absent && number == 2) continue;
    threads.emplace_back([&, number] {
      Rank& rank = ranks[number];
      const std::vector<RunRow> runs = runs_of(collective, number);
      const int64_t share = kPerRank * kElements * number;
      for (int32_t call = 0; call < kCalls; call++) {
        rank.first.assign(kChunks * kElements, -1);
        rank.second.assign(kChunks * kElements, -1);
        Element* const input = rank.first.data() + (collective.in_place && collective.small_input ? share : 0);
        std::vector<Element>& taken = collective.in_place ? rank.first : rank.second;
        Element* const output = taken.data() + (collective.in_place && collective.small_output ? share : 0);
        const int64_t offset = collective.small_input ? share : 0;
        for (int64_t k = 0; k < (collective.small_input ? kPerRank : kChunks) * kElements; k++) {
          input[k] = value_of(number, k + offset, call);
        }
        const uint64_t signature = one_is_elsewhere && number == 2 ? 99 : call;
        const std::chrono::nanoseconds timeout = std::chrono::milliseconds(one_is_absent ? 300 : 60'000);
        const SwitchLaunch launch{windows.data(),
                                  nullptr,
                                  window,
                                  runs.data(),
                                  {reinterpret_cast<uint8_t*>(input), reinterpret_cast<uint8_t*>(output)},
                                  rank.words.data(),
                                  rank.words.data() + kWordStride,
                                  kElements * static_cast<int64_t>(sizeof(Element)),
                                  signature,
                                  static_cast<uint64_t>(timeout.count()),
                                  static_cast<int32_t>(runs.size()),
                                  number,
                                  collective.adds,
                                  collective.spreads};
        run(launch, lanes, seed + call);
        const uint64_t failure = load_acquire(launch.failure);
        if (failure != 0) {
          const Failure found = Failure::of(failure);
          wrong[number] = std::to_string(static_cast<int32_t>(found.reason)) + " of " + std::to_string(found.peer);
          return;
        }
        try {
          check(collective, number, output, call);
        } catch (const std::runtime_error& error) {
          wrong[number] = error.what();
          return;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int32_t number = 0; number < kRanks; number++) {
    if (one_is_absent && number == 2) continue;
    const int32_t told = wrong[number].empty() ? 0 : std::stoi(wrong[number]);
    const auto is = [told](Reason reason) { return told == static_cast<int32_t>(reason); };
    const bool right = one_is_absent      ? is(Reason::kNotBegun) || is(Reason::kPeerGaveUp)
                       : one_is_elsewhere ? is(Reason::kOtherCall) || is(Reason::kPeerGaveUp)
                                          : wrong[number].empty();
    if (!right) throw std::runtime_error(kind + ": rank " + std::to_string(number) + ": " + wrong[number]);
  }
}

}  // namespace
}  // namespace hocket::device

int main(int, char** words) {
  try {
    for (uint64_t seed = 0; seed < std::stoull(words[2]); seed++) {
      for (const int32_t lanes : {1, 2}) hocket::device::run_world(words[1], lanes, 1000 * seed + lanes);
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  std::cout << words[1] << " ok\n";
}
