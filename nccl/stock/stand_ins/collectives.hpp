// What NCCL's kernels do for each algorithm, on one channel: which chunks go where, in which order. The cuts are NCCL's
// own, read from the works that its host code enqueued.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "collectives.h"  // NCCL's
#include "pat.hpp"
#include "work.hpp"

namespace hocket::stand_in {

inline void ring_all_reduce(Work work) {
  work.cut();
  ncclRing& ring = work.channel.ring;
  int n = work.ranks, at = ring.index;
  Pipe pipe = work.pipe(work.ring_cut(ALLREDUCE_CHUNKSTEPS, ALLREDUCE_SLICESTEPS), {ring.prev}, {ring.next});
  int64_t chunk = work.chunk, loop = n * chunk;
  for (int64_t done = 0; done < work.size; done += loop) {
    int64_t left = work.size - done;
    int64_t pack = 16 / static_cast<int64_t>(work.element_bytes);
    if (left < loop) chunk = ((left + n - 1) / n + pack - 1) / pack * pack;
    auto piece = [&](int index, auto&& move) {
      int64_t offset = index % n * chunk;
      move(work.start + done + offset, std::min(chunk, left - offset));
    };
    piece(at + n - 1, [&](int64_t o, int64_t c) { pipe.chunk(false, true, Pipe::kInput, o, Pipe::kNone, 0, c); });
    for (int j = 2; j < n; j++)
      piece(at + n - j, [&](int64_t o, int64_t c) { pipe.chunk(true, true, Pipe::kInput, o, Pipe::kNone, 0, c); });
    piece(at, [&](int64_t o, int64_t c) { pipe.chunk(true, true, Pipe::kInput, o, Pipe::kOutput, o, c, true); });
    for (int j = 1; j < n - 1; j++)
      piece(at + n - j, [&](int64_t o, int64_t c) { pipe.chunk(true, true, Pipe::kNone, 0, Pipe::kOutput, o, c); });
    piece(at + 1, [&](int64_t o, int64_t c) { pipe.chunk(true, false, Pipe::kNone, 0, Pipe::kOutput, o, c); });
  }
}

inline void ring_all_gather(Work work) {
  work.cut();
  ncclRing& ring = work.channel.ring;
  const int* ranks = ring.userRanks;
  int n = work.ranks;
  Pipe pipe = work.pipe(work.ring_cut(ALLGATHER_CHUNKSTEPS, ALLGATHER_SLICESTEPS), {ring.prev}, {ring.next});
  for (int64_t done = 0; done < work.size; done += work.chunk) {
    int64_t c = std::min(work.chunk, work.size - done), in = work.start + done;
    pipe.chunk(false, true, Pipe::kInput, in, Pipe::kOutput, in + ranks[0] * work.count, c);
    for (int j = 1; j < n - 1; j++)
      pipe.chunk(true, true, Pipe::kNone, 0, Pipe::kOutput, in + ranks[n - j] * work.count, c);
    pipe.chunk(true, false, Pipe::kNone, 0, Pipe::kOutput, in + ranks[1] * work.count, c);
  }
}

inline void ring_reduce_scatter(Work work) {
  work.cut();
  ncclRing& ring = work.channel.ring;
  const int* ranks = ring.userRanks;
  int n = work.ranks;
  Pipe pipe = work.pipe(work.ring_cut(REDUCESCATTER_CHUNKSTEPS, REDUCESCATTER_SLICESTEPS), {ring.prev}, {ring.next});
  for (int64_t done = 0; done < work.size; done += work.chunk) {
    int64_t c = std::min(work.chunk, work.size - done), out = work.start + done;
    pipe.chunk(false, true, Pipe::kInput, out + ranks[n - 1] * work.count, Pipe::kNone, 0, c);
    for (int j = 2; j < n; j++)
      pipe.chunk(true, true, Pipe::kInput, out + ranks[n - j] * work.count, Pipe::kNone, 0, c);
    pipe.chunk(true, false, Pipe::kInput, out + ranks[0] * work.count, Pipe::kOutput, out, c, true);
  }
}

inline void ring_broadcast(Work work) {
  work.cut();
  ncclRing& ring = work.channel.ring;
  int root = static_cast<int>(work.coll->root);
  bool is_root = ring.userRanks[0] == root, is_last = ring.userRanks[1] == root;
  Pipe pipe = work.pipe(work.ring_cut(BROADCAST_CHUNKSTEPS, BROADCAST_SLICESTEPS), {ring.prev}, {ring.next});
  for (int64_t done = 0; done < work.size; done += work.chunk) {
    int64_t at = work.start + done, c = std::min(work.chunk, work.size - done);
    pipe.chunk(!is_root, !is_last, is_root ? Pipe::kInput : Pipe::kNone, at, Pipe::kOutput, at, c);
  }
}

inline void ring_reduce(Work work) {
  work.cut();
  ncclRing& ring = work.channel.ring;
  int root = static_cast<int>(work.coll->root);
  bool is_root = work.rank == root, is_first = ring.userRanks[work.ranks - 1] == root;
  Pipe pipe = work.pipe(work.ring_cut(REDUCE_CHUNKSTEPS, REDUCE_SLICESTEPS), {ring.prev}, {ring.next});
  for (int64_t done = 0; done < work.size; done += work.chunk) {
    int64_t at = work.start + done, c = std::min(work.chunk, work.size - done);
    pipe.chunk(!is_first, !is_root, Pipe::kInput, at, is_root ? Pipe::kOutput : Pipe::kNone, at, c, is_root);
  }
}

/** Sums go up the tree while those before come down. The root does both at once. */
inline void tree_all_reduce(Work work) {
  work.cut();
  ncclTree& tree = work.channel.tree;
  std::vector<int> down = peers(tree.down, NCCL_MAX_TREE_ARITY), up;
  if (tree.up >= 0) up.push_back(tree.up);
  auto each = [work](auto&& move) {
    for (int64_t done = 0; done < work.size; done += work.chunk)
      move(work.start + done, std::min(work.chunk, work.size - done));
  };
  if (up.empty()) {
    Pipe pipe = work.pipe({work.protocol}, down, down);
    each([&](int64_t o, int64_t c) { pipe.chunk(true, true, Pipe::kInput, o, Pipe::kOutput, o, c, true); });
    return;
  }
  Team team(work.fibers);
  team.add([=] {
    Pipe pipe = work.pipe({work.protocol}, up, down);
    each([&](int64_t o, int64_t c) { pipe.chunk(true, true, Pipe::kNone, 0, Pipe::kOutput, o, c); });
  });
  Pipe pipe = work.pipe({work.protocol}, down, up);
  each([&](int64_t o, int64_t c) { pipe.chunk(true, true, Pipe::kInput, o, Pipe::kNone, 0, c); });
}

/** NVLS of one node, and NVLSTree: each rank scatters to the heads, a head reduces through NVSwitch's multicast and
 * writes through it, and all gather. Between nodes the heads are joined by a tree. */
inline void nvls_all_reduce(Work work, bool tree) {
  work.cut();
  ncclNvls& nvls = work.channel.nvls;
  int heads = nvls.nHeads;
  int64_t chunk = work.chunk, loop = heads * chunk, rest = work.size % loop;
  int64_t unit = (tree ? 16 : 16384) / static_cast<int64_t>(work.element_bytes);
  int64_t last = ((rest + heads - 1) / heads + unit - 1) / unit * unit;
  auto each = [=](auto&& move) {
    for (int64_t done = 0; done < work.size; done += loop) {
      int64_t now = work.size - done < loop ? last : chunk;
      move(done, now);
    }
  };
  std::vector<int> up = peers(nvls.up, heads);
  Team team(work.fibers);
  team.add([=] {
    Pipe pipe = work.pipe({NCCL_PROTO_SIMPLE}, {}, up, 1, 1);
    each([&](int64_t done, int64_t now) {
      pipe.scatter(work.start + done, std::min(loop, work.size - done), now, now);
    });
  });
  team.add([=] {
    Pipe pipe = work.pipe({NCCL_PROTO_SIMPLE}, up, {}, 1, 1);
    each(
        [&](int64_t done, int64_t now) { pipe.gather(work.start + done, std::min(loop, work.size - done), now, now); });
  });
  if (nvls.headRank == -1) return;
  auto through = [=](std::vector<int> from, std::vector<int> to, bool ends) {
    Pipe pipe = work.pipe({NCCL_PROTO_SIMPLE}, std::move(from), std::move(to));
    each([&](int64_t done, int64_t now) {
      int64_t offset = done + nvls.headRank * now;
      pipe.chunk(true, true, Pipe::kNone, 0, Pipe::kNone, 0, std::min(now, work.size - offset), ends);
    });
  };
  std::vector<int> down = {nvls.down};
  if (tree) down = peers(nvls.treeDown, NCCL_MAX_NVLS_TREE_ARITY);
  if (!tree || nvls.treeUp == -1) {
    team.add([=] { through(down, down, true); });
    return;
  }
  std::vector<int> tree_up = {nvls.treeUp};
  team.add([=] { through(down, tree_up, false); });
  team.add([=] { through(tree_up, down, true); });
}

inline void nvls_all_gather(Work work) {
  work.cut();
  ncclNvls& nvls = work.channel.nvls;
  auto each = [=](auto&& move) {
    for (int64_t done = 0; done < work.size; done += work.chunk)
      move(work.start + done, std::min(work.chunk, work.size - done));
  };
  std::vector<int> up = peers(nvls.up, nvls.nHeads);
  int heads = nvls.nHeads, down = nvls.down;
  Team team(work.fibers);
  team.add([=] {
    Pipe pipe = work.pipe({NCCL_PROTO_SIMPLE}, up, {}, 1, 1);
    each([&](int64_t at, int64_t c) { pipe.gather(at, heads * work.count, c, work.count); });
  });
  team.add([=] {
    Pipe pipe = work.pipe({NCCL_PROTO_SIMPLE}, {}, {down});
    each([&](int64_t at, int64_t c) { pipe.chunk(false, true, Pipe::kInput, at, Pipe::kNone, 0, c); });
  });
}

inline void nvls_reduce_scatter(Work work) {
  work.cut();
  ncclNvls& nvls = work.channel.nvls;
  auto each = [=](auto&& move) {
    for (int64_t done = 0; done < work.size; done += work.chunk)
      move(work.start + done, std::min(work.chunk, work.size - done));
  };
  std::vector<int> up = peers(nvls.up, nvls.nHeads);
  int heads = nvls.nHeads, down = nvls.down;
  Team team(work.fibers);
  team.add([=] {
    Pipe pipe = work.pipe({NCCL_PROTO_SIMPLE}, {}, up, 1, 1);
    each([&](int64_t at, int64_t c) { pipe.scatter(at, heads * work.count, c, work.count); });
  });
  team.add([=] {
    Pipe pipe = work.pipe({NCCL_PROTO_SIMPLE}, {down}, {});
    each([&](int64_t at, int64_t c) { pipe.chunk(true, false, Pipe::kNone, 0, Pipe::kOutput, at, c, true); });
  });
}

/** Runs a work, or says that it is not run here and why. */
inline void run_collective(const Work& work) {
  auto refuse = [&](const char* why) {
    fprintf(stderr, "hocket: no data moved: %s (function %d, algorithm %d, protocol %d)\n", why, work.function,
            work.algorithm, work.protocol);
    _Exit(3);
  };
  if (work.coll->regUsed || work.coll->netRegUsed) refuse("registered buffers are not moved by the stand-in kernels");
  bool one_node = work.coll->oneNode;
  switch (work.algorithm) {
    case NCCL_ALGO_RING:
      switch (work.function) {
        case ncclFuncAllReduce:
          return ring_all_reduce(work);
        case ncclFuncAllGather:
          return ring_all_gather(work);
        case ncclFuncReduceScatter:
          return ring_reduce_scatter(work);
        case ncclFuncBroadcast:
          return ring_broadcast(work);
        case ncclFuncReduce:
          return ring_reduce(work);
        default:
          refuse("a ring of an unknown collective");
      }
      return;
    case NCCL_ALGO_TREE:
      return tree_all_reduce(work);
    case NCCL_ALGO_PAT:
      return work.function == ncclFuncAllGather ? pat_all_gather(work) : pat_reduce_scatter(work);
    case NCCL_ALGO_NVLS_TREE:
      return nvls_all_reduce(work, true);
    case NCCL_ALGO_NVLS:
      if (!one_node) refuse("NVLS over several nodes needs a network that reduces");
      if (work.function == ncclFuncAllReduce) return nvls_all_reduce(work, false);
      return work.function == ncclFuncAllGather ? nvls_all_gather(work) : nvls_reduce_scatter(work);
    default:
      refuse("the stand-in kernels do not do this algorithm");
  }
}

}  // namespace hocket::stand_in
