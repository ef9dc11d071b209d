/// What calls have in common: one line of the stream for all that are alike.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hocket::mpi {

/// Sizes are bytes, ranks world ranks, -1 for none. All strings outlive the program's calls and are equal only when
/// they are the same.
struct Shape {
  const char* op = "";    // the function, MPI_Allreduce_c
  const char* kind = "";  // all_reduce
  int group = 0;
  int64_t input_bytes = 0;
  int64_t output_bytes = 0;
  const char* type = "";
  bool is_async = false;
  int root = -1;
  int peer = -1;
  int tag = 0;
  const char* reduction = "";
  std::vector<int64_t> input_splits = {};
  std::vector<int64_t> output_splits = {};

  bool operator==(const Shape&) const = default;

  /// The line of kind shape that gives this one the number `id`.
  std::string line(int64_t id) const;
};

struct ShapeHash {
  size_t operator()(const Shape& shape) const;
};

}  // namespace hocket::mpi
