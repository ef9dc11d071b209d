/// NCCL's tuner plugin interface, versions 3 to 6 (NCCL 2.22 to 2.32): own declarations with its binary layout.
///
/// NCCL checks every result, of init too: anything but success makes ncclCommInitRank or the collective fail.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../logger.hpp"
#include "hocket/nccl/constants.hpp"

namespace hocket::nccl {

/// ncclNvlDomainInfo.
struct DomainInfo {
  int domains;
  int least_ranks;
  int most_ranks;
};

/// Versions 3 and 4; the costs are `algorithms` rows of `protocols` floats, behind a float** for C's sake.
struct Tuner3 {
  const char* name;
  Result (*init)(size_t ranks, size_t nodes, Logger log, void** context);
  Result (*get_collective)(void* context, int function, size_t bytes, int pipe_operations, float** costs,
                           int algorithms, int protocols, int* channels);
  Result (*destroy)(void* context);
};

struct Tuner4 {
  const char* name;
  Result (*init)(size_t ranks, size_t nodes, Logger log, void** context);
  Result (*get_collective)(void* context, int function, size_t bytes, int pipe_operations, float** costs,
                           int algorithms, int protocols, int registered, int* channels);
  Result (*destroy)(void* context);
};

struct Tuner5 {
  const char* name;
  Result (*init)(void** context, uint64_t communicator, size_t ranks, size_t nodes, Logger log, DomainInfo* domains,
                 Constants* constants);
  Result (*get_collective)(void* context, int function, size_t bytes, int pipe_operations, float** costs,
                           int algorithms, int protocols, int registered, int* channels);
  Result (*finalize)(void* context);
};

struct Tuner6 : Tuner5 {
  Result (*get_chunk)(void* context, int function, size_t bytes, int algorithm, int protocol, int channels,
                      size_t* chunk);
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // A base's members come first, as in C: that is what is asserted.
static_assert(sizeof(Tuner3) == 32 && sizeof(Tuner4) == 32 && sizeof(Tuner5) == 32 && sizeof(Tuner6) == 40);
static_assert(offsetof(Tuner3, get_collective) == 16 && offsetof(Tuner4, destroy) == 24);
static_assert(offsetof(Tuner5, init) == 8 && offsetof(Tuner6, finalize) == 24 && offsetof(Tuner6, get_chunk) == 32);
static_assert(sizeof(DomainInfo) == 12 && offsetof(DomainInfo, most_ranks) == 8);
static_assert(sizeof(Constants) == 1152 && offsetof(Constants, step_latency) == 168);
static_assert(offsetof(Constants, most_ll) == 672 && offsetof(Constants, most_nvls_tree) == 1056);
#pragma GCC diagnostic pop

}  // namespace hocket::nccl
