#include "hocket/synthesizer/rounds/rounds.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "../../src/synthesizer/rounds/chunk_names.hpp"
#include "hocket/error.hpp"
#include "hocket/synthesizer/random.hpp"
#include "hocket/synthesizer/rounds/chunk_block.hpp"
#include "hocket/synthesizer/rounds/columns.hpp"
#include "hocket/synthesizer/rounds/search.hpp"
#include "replay.hpp"

namespace hocket::synthesizer {
namespace {

/// Links both ways between neighbours of a grid.
Graph grid(int32_t columns, int32_t rows) {
  std::vector<Link> links;
  const auto join = [&](int32_t a, int32_t b) {
    links.push_back({a, b, 100'000, 1'000'000'000});
    links.push_back({b, a, 100'000, 1'000'000'000});
  };
  for (int32_t rank = 0; rank < columns * rows; rank++) {
    if (rank % columns + 1 < columns) join(rank, rank + 1);
    if (rank / columns + 1 < rows) join(rank, rank + columns);
  }
  return Graph(columns * rows, columns * rows, links);
}

/// The mirrors of a grid in its even directions.
std::vector<int32_t> mirrors(int32_t columns, int32_t rows) {
  std::vector<int32_t> images;
  for (int32_t rank = 0; columns % 2 == 0 && rank < columns * rows; rank++) {
    images.push_back(rank + columns - 1 - 2 * (rank % columns));
  }
  for (int32_t rank = 0; rows % 2 == 0 && rank < columns * rows; rank++) {
    images.push_back(rank + (rows - 1 - 2 * (rank / columns)) * columns);
  }
  return images;
}

std::optional<Picoseconds> search_rounds(const Network& network, const Orbits& orbits,
                                         const std::vector<int32_t>& origin, const RoundOptions& options,
                                         RoundSink& sink, Stop& stop) {
  return RoundSearch(network, orbits, origin, options, sink, stop).run();
}

Transfers run(const Network& network, const Orbits& orbits, const std::vector<int32_t>& origin,
              const RoundOptions& options) {
  RoundColumns columns(round_times(network, options.rounds_per_hop));
  Stop stop;
  const auto time = search_rounds(network, orbits, origin, options, columns, stop);
  Transfers found = columns.release();
  EXPECT_EQ(time, found.time);
  EXPECT_EQ(stop.found(), 1);
  return found;
}

/// All images of what the representatives do; origin[c] = c / chunks of a rank.
Transfers unfold(const Network& network, const Orbits& orbits, int32_t chunks, const Transfers& folded) {
  Transfers all;
  const auto image = [&](int32_t rank, int32_t element) {
    return orbits.rank(orbits.orbit_of(rank), orbits.element_of(rank) ^ element);
  };
  for (size_t id = 0; id < folded.chunk.size(); id++) {
    const int32_t src = network.src[folded.link[id]], dst = network.dst[folded.link[id]];
    EXPECT_EQ(orbits.element_of(dst), 0);
    for (int32_t element = 0; element < orbits.order(); element++) {
      for (int32_t link : network.in[image(dst, element)]) {
        if (network.src[link] != image(src, element)) continue;
        const int32_t chunk = folded.chunk[id];
        all.add(image(chunk / chunks, element) * chunks + chunk % chunks, link, folded.start[id], folded.finish[id]);
      }
    }
  }
  return all;
}

void expect_equal(const Transfers& one, const Transfers& other) {
  EXPECT_EQ(one.chunk, other.chunk);
  EXPECT_EQ(one.link, other.link);
  EXPECT_EQ(one.start, other.start);
}

TEST(Rounds, AnyNumberOfThreadsFindsTheSame) {
  // Latency is twice the serialization: 3 rounds a hop. Threads take turns on 64 ranks at a time.
  for (const bool blocking : {false, true}) {
    for (const RoundPolicy policy : {RoundPolicy::kRandom, RoundPolicy::kRarest}) {
      const Network network = direct(grid(16, 16), 50, blocking);
      const Orbits orbits(256);
      const auto origin = all_gather(256, 3);
      RoundOptions options{blocking ? 1 : rounds_per_hop(network), policy, 5, 1};
      const Transfers one = run(network, orbits, origin, options);
      expect_valid(network, origin, one);
      options.threads = 3;
      expect_equal(one, run(network, orbits, origin, options));
    }
  }
}

TEST(Rounds, MirroredMeshesMeetTheIngressBound) {
  // A corner's two links bring it all other ranks' chunks: rounds of 1.1 us (blocking).
  struct Shape {
    int32_t columns, rows, chunks, mirrors;
  };
  for (const Shape& shape : {Shape{6, 6, 2, 2}, Shape{10, 10, 7, 2}, Shape{9, 8, 3, 1}, Shape{7, 5, 3, 0}}) {
    const int32_t ranks = shape.columns * shape.rows;
    const Network network = direct(grid(shape.columns, shape.rows), 1000, true);
    const Orbits orbits(ranks, mirrors(shape.columns, shape.rows));
    EXPECT_EQ(orbits.order(), 1 << shape.mirrors);
    const auto origin = all_gather(ranks, shape.chunks);
    const Transfers all = unfold(network, orbits, shape.chunks, run(network, orbits, origin, {.seed = 1}));
    expect_valid(network, origin, all);
    EXPECT_EQ(all.time, ((ranks - 1) * shape.chunks + 1) / 2 * 1'100'000) << shape.columns << "x" << shape.rows;
  }
}

TEST(Rounds, GivesUpWhatTakesTooLong) {
  const Network network = direct(ring(8), 1000, true);
  const auto origin = all_gather(8, 4);
  const Transfers found = run(network, Orbits(8), origin, {});
  Stop stop;
  for (const Picoseconds below : {found.time, found.time / 2, Picoseconds{1}}) {
    RoundColumns columns(round_times(network, 1));
    EXPECT_FALSE(search_rounds(network, Orbits(8), origin, {.below_ps = below}, columns, stop)) << below;
  }
  RoundColumns columns(round_times(network, 1));
  EXPECT_EQ(search_rounds(network, Orbits(8), origin, {.below_ps = found.time + 1}, columns, stop), found.time);
}

TEST(Rounds, NamesTheRankThatCannotBeReached) {
  const Graph graph(3, 3, {{0, 1, 0, 1'000'000'000}, {1, 0, 0, 1'000'000'000}, {2, 0, 0, 1'000'000'000}});
  try {
    run(direct(graph, 1000, false), Orbits(3), all_gather(3, 1), {});
    FAIL() << "expected Infeasible";
  } catch (const Infeasible& error) {
    EXPECT_NE(std::string(error.what()).find("chunk 0: no path of links joins rank 0 and rank 2"), std::string::npos)
        << error.what();
  }
}

TEST(Rounds, EndsWhenAskedAndWhenItsSinkFails) {
  struct Full : RoundSink {
    void take(int64_t round, std::span<const int32_t>, std::span<const int32_t>) override {
      if (round == 3) throw FormatError("no space left");
    }
  } full;
  const Network network = direct(grid(16, 16), 1000, true);
  Stop stop;
  EXPECT_THROW(search_rounds(network, Orbits(256), all_gather(256, 1), {.threads = 2}, full, stop), FormatError);
  stop.ask();
  EXPECT_THROW(search_rounds(network, Orbits(256), all_gather(256, 1), {.threads = 2}, full, stop), Stopped);
}

TEST(Rounds, RefusesLinksThatDiffer) {
  const Graph graph(2, 2, {{0, 1, 0, 1'000'000'000}, {1, 0, 1, 1'000'000'000}});
  EXPECT_THROW(run(direct(graph, 1000, false), Orbits(2), all_gather(2, 1), {}), ScheduleError);
}

TEST(Orbits, RefuseWhatIsNoFreeGroupOfInvolutions) {
  const auto refused = [](const std::vector<int32_t>& generators) {
    EXPECT_THROW(Orbits(4, generators), ScheduleError);
  };
  refused({1, 2, 3, 0});              // a rotation: twice is not nothing
  refused({0, 1, 3, 2});              // leaves 0 where it is
  refused({1, 0, 3, 2, 1, 0, 3, 2});  // the same twice
  refused({1, 0, 3, 4});              // rank 4
  refused({1, 0, 3});                 // one image too few
  const Orbits square(4, std::vector<int32_t>{1, 0, 3, 2, 2, 3, 0, 1});
  EXPECT_EQ(square.size(), 1);
  EXPECT_EQ(square.rank(0, 3), 3);
}

TEST(ChunkNames, GoWithTheRanks) {
  const Orbits orbits(16, mirrors(4, 4));
  const std::vector<int32_t> chunk_of = name_chunks(all_gather(16, 5), orbits, 7);
  for (size_t name = 0; name < chunk_of.size(); name++) {
    for (size_t element = 0; element < 4; element++) {
      const int32_t chunk = chunk_of[name], image = chunk_of[name ^ element];
      EXPECT_EQ(orbits.element_of(chunk / 5) ^ orbits.element_of(image / 5), static_cast<int32_t>(element));
      EXPECT_EQ(orbits.orbit_of(chunk / 5), orbits.orbit_of(image / 5));
      EXPECT_EQ(chunk % 5, image % 5);
    }
  }
  EXPECT_THROW(name_chunks(std::vector<int32_t>{0, 1, 1}, Orbits(2, std::vector<int32_t>{1, 0}), 0), ScheduleError);
}

TEST(ChunkBlock, PermutedBitsAreAtTheImages) {
  Random random(1);
  for (int32_t element = 0; element < 64; element++) {
    const uint64_t bits = random.next(), images = permuted(bits, element);
    for (int32_t place = 0; place < 64; place++) EXPECT_EQ(images >> (place ^ element) & 1, bits >> place & 1);
  }
}

}  // namespace
}  // namespace hocket::synthesizer
