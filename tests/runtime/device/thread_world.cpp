// Runs programs by the device interpreter, all ranks and lanes as threads of this process, which stop at random: for
// ThreadSanitizer, which sees every access of one process, and, with HOCKET_AS_GPUS_ALIGN, for the sanitizer of
// alignment. `thread_world WORLD SEEDS`, of what test_races.py writes.

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "../../../core/src/device/kernels.hpp"
#include "hocket/device/threads.hpp"
#include "hocket/error.hpp"
#include "hocket/executor/program.hpp"

namespace hocket::device {

using Element = int16_t;

/// Of sums of 2 bytes alone: the others differ in arithmetic, and have fewer ways to move.
Kernel* kernel_of(int32_t, int32_t) {
  return [](const Launch& launch, int32_t block, const Lanes& lanes, BlockMemory& shared) {
    Walk<Arithmetic<Plain<Element>, Sum>>(launch, block, lanes, shared).run();
  };
}

/// Of programs over switches nothing is run here: `switch_world.cpp` does.
SwitchKernel* switch_kernel_of(int32_t, int32_t) { return nullptr; }

namespace {

constexpr int64_t kSlotBytes = 256;
constexpr int64_t kChunk = 603;  ///< elements: chunks begin at multiples of 2, 4, 8 and 16, and take several slices
constexpr int32_t kCalls = 3;
constexpr std::chrono::seconds kTimeout{60};

struct World {
  std::string name;
  int32_t ranks, connections, plain_slots, most_blocks, depth, chunks_per_share, largest;
  bool packets, in_place, small_input, small_output;
  int32_t input_chunks, output_chunks;
  int32_t factor;  ///< all inputs are alike: an output is so many times one; 0: what is not a result may be anything
  std::vector<executor::Program> parts;
  std::vector<std::vector<int32_t>> numbers;
};

World read(const std::string& path) {
  std::ifstream file(path);
  World world;
  file >> world.name >> world.ranks >> world.connections >> world.plain_slots >> world.most_blocks >> world.depth >>
      world.chunks_per_share >> world.largest >> world.packets >> world.in_place >> world.small_input >>
      world.small_output >> world.input_chunks >> world.output_chunks >> world.factor;
  for (int32_t rank = 0; rank < world.ranks; rank++) {
    size_t count, bytes;
    file >> count;
    std::vector<int32_t> numbers(count);
    for (int32_t& number : numbers) file >> number;
    world.numbers.push_back(numbers);
    file >> bytes;
    file.ignore();
    std::string text(bytes, ' ');
    file.read(text.data(), static_cast<std::streamsize>(bytes));
    std::istringstream part(text);
    world.parts.push_back(executor::read_program(part, world.name));
  }
  return world;
}

/// Each chunk is 1, 2, 3 and so on.
Element value_of(int64_t k) { return static_cast<Element>(k % kChunk + 1); }

/// Throws where an element of the output is not what its place in a chunk says.
void check(const World& world, const Element* output) {
  if (world.factor == 0) return;
  for (int64_t k = 0; k < world.output_chunks * kChunk; k++) {
    const int32_t right = world.factor * value_of(k);
    if (output[k] != right) {
      throw Error("element " + std::to_string(k) + " is " + std::to_string(output[k]) + " for " +
                  std::to_string(right));
    }
  }
}

void run(const World& world, int32_t lanes, uint64_t seed) {
  const Window window{world.connections, world.plain_slots, kSlotBytes, kSlotBytes};
  std::vector<std::vector<Pack>> memory(world.ranks);
  std::vector<std::byte*> windows;
  for (auto& place : memory) {
    place.resize(window.bytes() / sizeof(Pack) + 1);
    windows.push_back(reinterpret_cast<std::byte*>(place.data()));
  }
  const int64_t share = kChunk * world.chunks_per_share;
  std::vector<std::thread> ranks;
  for (int32_t rank = 0; rank < world.ranks; rank++) {
    ranks.emplace_back([&, rank] {
      Threads threads(rank, windows, {}, window, world.most_blocks, std::nullopt, lanes, seed + rank);
      const Tables tables = tables_of(world.parts[rank], world.numbers[rank], world.largest);
      std::vector<Element> first(share * (world.ranks + 1)), second(share * (world.ranks + 1));
      Element* const input = first.data() + (world.in_place && world.small_input ? rank * share : 0);
      Element* const output =
          (world.in_place ? first : second).data() + (world.in_place && world.small_output ? rank * share : 0);
      const std::array buffers{reinterpret_cast<std::byte*>(input), reinterpret_cast<std::byte*>(output)};
      for (uint64_t number = 0; number < kCalls; number++) {
        std::ranges::fill(first, Element{0});
        for (int64_t k = 0; k < world.input_chunks * kChunk; k++) input[k] = value_of(k);
        constexpr int64_t kBytes = kChunk * sizeof(Element);
        threads.run(tables, {buffers, kBytes, 0, 0, 0, world.depth, world.packets, number, kTimeout}, [] {});
        check(world, output);
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

}  // namespace
}  // namespace hocket::device

int main(int count, char** words) {
  const hocket::device::World world = hocket::device::read(words[1]);
  for (uint64_t seed = 0; seed < std::stoull(words[count - 1]); seed++) {
    for (const int32_t lanes : {1, 2}) hocket::device::run(world, lanes, 1000 * seed + lanes);
  }
  std::cout << world.name << " ok\n";
}
