#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "hocket/chakra/huge_pages.hpp"

namespace hocket::chakra {

/// `NodeType` of the Chakra schema (0.0.4 and later).
enum class NodeType : uint8_t { kInvalid, kMetadata, kMemLoad, kMemStore, kComp, kCommSend, kCommRecv, kCommColl };
inline constexpr uint64_t kNumNodeTypes = 8;

/// The nodes of one execution trace as columns, a row a node in file order; -1 where a node lacks an attribute.
/// `name`, `process_group`, `dtype` and `in_splits` are indices into the trace's strings. Node k depends on the ids
/// `data_deps[data_offset[k]]` up to `data_deps[data_offset[k + 1]]` (exclusive), and the same for `ctrl_deps`. `rest`
/// holds the serialized fields of each node that have no column, if they were asked for.
template <template <typename> typename Column>
struct Table {
  Column<uint64_t> id;
  Column<uint8_t> type;
  Column<int32_t> name;
  Column<uint64_t> start_us;
  Column<uint64_t> duration_us;
  Column<int64_t> duration_ns;
  Column<int8_t> is_cpu_op;
  Column<int64_t> comm_type;
  Column<int64_t> comm_bytes;
  Column<int64_t> comm_src;
  Column<int64_t> comm_dst;
  Column<int64_t> comm_tag;
  Column<int64_t> comm_priority;
  Column<int32_t> process_group;
  Column<int32_t> dtype;
  Column<int64_t> root;
  Column<int64_t> num_ops;
  Column<int64_t> tensor_bytes;
  Column<int64_t> involved_dims;
  Column<int32_t> in_splits;
  Column<int64_t> data_offset;
  Column<uint64_t> data_deps;
  Column<int64_t> ctrl_offset;
  Column<uint64_t> ctrl_deps;
  Column<int64_t> rest_offset;
  Column<uint8_t> rest;

  size_t size() const { return id.size(); }

  /// Calls `visit(name, column)` for the columns that have one entry a node.
  template <typename Visit>
  void each_attribute(Visit&& visit) {
    visit("id", id);
    visit("type", type);
    visit("name", name);
    visit("start_us", start_us);
    visit("duration_us", duration_us);
    visit("duration_ns", duration_ns);
    visit("is_cpu_op", is_cpu_op);
    visit("comm_type", comm_type);
    visit("comm_bytes", comm_bytes);
    visit("comm_src", comm_src);
    visit("comm_dst", comm_dst);
    visit("comm_tag", comm_tag);
    visit("comm_priority", comm_priority);
    visit("process_group", process_group);
    visit("dtype", dtype);
    visit("root", root);
    visit("num_ops", num_ops);
    visit("tensor_bytes", tensor_bytes);
    visit("involved_dims", involved_dims);
    visit("in_splits", in_splits);
  }

  /// Calls `visit(name, column)` for the columns of lists: where each node's begins, then all of them.
  template <typename Visit>
  void each_list(Visit&& visit) {
    visit("data_offset", data_offset);
    visit("data_deps", data_deps);
    visit("ctrl_offset", ctrl_offset);
    visit("ctrl_deps", ctrl_deps);
    visit("rest_offset", rest_offset);
    visit("rest", rest);
  }
};

template <typename T>
using OwnedColumn = std::vector<T, HugePageAllocator<T>>;
template <typename T>
using ColumnView = std::span<const T>;

using Columns = Table<OwnedColumn>;
using ColumnsView = Table<ColumnView>;

/// A trace whose columns and strings are owned by the caller.
struct TraceView {
  ColumnsView columns;
  std::vector<std::string_view> strings;

  /// Throws TraceError when columns differ in length, or an index or an offset points outside.
  void check() const;
};

}  // namespace hocket::chakra
