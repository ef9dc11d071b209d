/// Shapes of the collectives: what goes in and out of one rank, in bytes.
///
/// Where the standard has a rank's arguments ignored (MPI_IN_PLACE, what only the root gives) they are not looked at. A
/// root outside the group is none: MPI will refuse the call.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "datatypes.hpp"
#include "groups.hpp"
#include "shape.hpp"

namespace hocket::mpi {

/// A count of elements of each rank in a buffer; one type for all (`types` of one) or each its own.
template <class Count>
struct Blocks {
  const void* buffer;
  const Count* counts;
  const MPI_Datatype* types;
  bool has_own_types = false;

  bool is_in_place() const { return buffer == MPI_IN_PLACE; }

  std::vector<int64_t> bytes(const Datatypes& datatypes, int size) const {
    std::vector<int64_t> bytes;
    // Asked once where all have one type: a job of thousands of ranks would ask MPI as often.
    TypeInfo type = has_own_types ? TypeInfo{} : datatypes.of(types[0]);
    for (int rank = 0; rank < size; ++rank) {
      if (has_own_types) type = datatypes.of(types[rank]);
      bytes.push_back(static_cast<int64_t>(counts[rank]) * type.bytes);
    }
    return bytes;
  }
};

inline int64_t sum(const std::vector<int64_t>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
}

/// Makes the shapes of one call.
/// Input and output as Chakra and nccl-tests count them, not as MPI's arguments do: an all_gather's output is what all
/// ranks gave, a reduce_scatter's input what is cut up.
class CollectiveSizes {
 public:
  CollectiveSizes(const Datatypes& datatypes, const Group& group) : datatypes_(datatypes), group_(group) {}

  Shape barrier() const { return {.kind = "barrier"}; }

  Shape broadcast(int64_t count, MPI_Datatype type, int root) const {
    Shape shape = sized("broadcast", type, root);
    shape.input_bytes = shape.output_bytes = count * datatypes_.of(type).bytes;
    return shape;
  }

  Shape reduce(int64_t count, MPI_Datatype type, MPI_Op op, int root) const {
    Shape shape = broadcast(count, type, root);
    shape.kind = "reduce";
    shape.reduction = datatypes_.reduction(op);
    if (group_.rank != root) shape.output_bytes = 0;
    return shape;
  }

  Shape all_reduce(int64_t count, MPI_Datatype type, MPI_Op op) const {
    Shape shape = broadcast(count, type, kNoRoot);
    shape.kind = "all_reduce";
    shape.reduction = datatypes_.reduction(op);
    return shape;
  }

  Shape reduce_scatter_block(int64_t count, MPI_Datatype type, MPI_Op op) const {
    Shape shape = all_reduce(count, type, op);
    shape.kind = "reduce_scatter";
    shape.input_bytes *= group_.size();
    return shape;
  }

  template <class Count>
  Shape reduce_scatter(const Count* counts, MPI_Datatype type, MPI_Op op) const {
    Shape shape = all_reduce(0, type, op);
    shape.kind = "reduce_scatter";
    shape.input_splits = Blocks<Count>{nullptr, counts, &type}.bytes(datatypes_, group_.size());
    shape.input_bytes = sum(shape.input_splits);
    shape.output_bytes = shape.input_splits[static_cast<size_t>(group_.rank)];
    return shape;
  }

  Shape all_gather(Block send, Block receive) const {
    const bool in_place = send.buffer == MPI_IN_PLACE;
    Shape shape = sized("all_gather", receive.type, kNoRoot);
    shape.input_bytes = in_place ? bytes(receive) : bytes(send);
    shape.output_bytes = bytes(receive) * group_.size();
    return shape;
  }

  template <class Count>
  Shape all_gather(Block send, Blocks<Count> receive) const {
    Shape shape = sized("all_gather", *receive.types, kNoRoot);
    shape.output_splits = receive.bytes(datatypes_, group_.size());
    shape.output_bytes = sum(shape.output_splits);
    shape.input_bytes = shape.output_splits[static_cast<size_t>(group_.rank)];
    if (send.buffer != MPI_IN_PLACE) shape.input_bytes = bytes(send);
    return shape;
  }

  Shape gather(Block send, Block receive, int root) const {
    const bool is_root = group_.rank == root;
    const bool in_place = is_root && send.buffer == MPI_IN_PLACE;
    Shape shape = sized("gather", in_place ? receive.type : send.type, root);
    shape.input_bytes = in_place ? bytes(receive) : bytes(send);
    if (is_root) shape.output_bytes = bytes(receive) * group_.size();
    return shape;
  }

  template <class Count>
  Shape gather(Block send, Blocks<Count> receive, int root) const {
    if (group_.rank != root) return gather(send, Block{}, root);
    Shape shape = all_gather(send, receive);
    shape.kind = "gather";
    shape.root = group_.ranks[static_cast<size_t>(root)];
    return shape;
  }

  Shape scatter(Block send, Block receive, int root) const {
    const bool is_root = group_.rank == root;
    const bool in_place = is_root && receive.buffer == MPI_IN_PLACE;
    Shape shape = sized("scatter", in_place ? send.type : receive.type, root);
    shape.output_bytes = in_place ? bytes(send) : bytes(receive);
    if (is_root) shape.input_bytes = bytes(send) * group_.size();
    return shape;
  }

  template <class Count>
  Shape scatter(Blocks<Count> send, Block receive, int root) const {
    if (group_.rank != root) return scatter(Block{}, receive, root);
    Shape shape = sized("scatter", *send.types, root);
    shape.input_splits = send.bytes(datatypes_, group_.size());
    shape.input_bytes = sum(shape.input_splits);
    shape.output_bytes = shape.input_splits[static_cast<size_t>(root)];
    return shape;
  }

  Shape all_to_all(Block send, Block receive) const {
    const bool in_place = send.buffer == MPI_IN_PLACE;
    Shape shape = sized("all_to_all", receive.type, kNoRoot);
    shape.input_bytes = (in_place ? bytes(receive) : bytes(send)) * group_.size();
    shape.output_bytes = bytes(receive) * group_.size();
    return shape;
  }

  template <class Count>
  Shape all_to_all(Blocks<Count> send, Blocks<Count> receive) const {
    Shape shape = sized("all_to_all", *receive.types, kNoRoot);
    shape.output_splits = receive.bytes(datatypes_, group_.size());
    shape.input_splits = send.is_in_place() ? shape.output_splits : send.bytes(datatypes_, group_.size());
    shape.input_bytes = sum(shape.input_splits);
    shape.output_bytes = sum(shape.output_splits);
    return shape;
  }

 private:
  static constexpr int kNoRoot = -1;

  int64_t bytes(Block block) const { return block.count * datatypes_.of(block.type).bytes; }

  Shape sized(const char* kind, MPI_Datatype type, int root) const {
    Shape shape{.kind = kind, .type = datatypes_.of(type).name};
    if (root >= 0 && root < group_.size()) shape.root = group_.ranks[static_cast<size_t>(root)];
    return shape;
  }

  const Datatypes& datatypes_;
  const Group& group_;
};

}  // namespace hocket::mpi
