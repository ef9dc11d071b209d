#include "hocket/chakra/writer.hpp"

#include <bit>
#include <limits>

#include "hocket/error.hpp"
#include "schema.hpp"
#include "wire.hpp"

namespace hocket::chakra {
namespace {

using namespace schema;
using wire::put_text;
using wire::put_varint;
using wire::tag;

void put_field(std::string& out, uint32_t field, uint64_t value) {
  if (value == 0) return;  // proto3 leaves default values out
  put_varint(out, tag(field, wire::kVarint));
  put_varint(out, value);
}

void put_packed(std::string& out, uint32_t field, std::span<const uint64_t> values) {
  if (values.empty()) return;
  size_t size = 0;
  for (const uint64_t value : values) size += wire::varint_size(value);
  put_varint(out, tag(field, wire::kBytes));
  put_varint(out, size);
  for (const uint64_t value : values) put_varint(out, value);
}

// A submessage needs its length before its bytes; lengths are computed, since a buffer for each would cost more.
void put_attribute(std::string& out, std::string_view name, AttributeField member, uint64_t value) {
  const uint32_t key = tag(member, wire::kVarint);
  put_varint(out, tag(kNodeAttr, wire::kBytes));
  put_varint(out, 2 + name.size() + wire::varint_size(key) + wire::varint_size(value));
  put_text(out, tag(kAttrName, wire::kBytes), name);
  put_varint(out, key);
  put_varint(out, value);
}

void put_attribute(std::string& out, std::string_view name, std::string_view value) {
  const uint32_t key = tag(kAttrString, wire::kBytes);
  put_varint(out, tag(kNodeAttr, wire::kBytes));
  put_varint(out, 2 + name.size() + wire::varint_size(key) + wire::varint_size(value.size()) + value.size());
  put_text(out, tag(kAttrName, wire::kBytes), name);
  put_text(out, key, value);
}

/// A BoolList attribute of the bits below the highest one of `mask`.
void put_bools(std::string& out, std::string_view name, uint64_t mask) {
  const auto size = static_cast<size_t>(std::bit_width(mask) - 1);
  const size_t list = size == 0 ? 0 : 2 + size;  // at most 63 values: all lengths here are one byte
  put_varint(out, tag(kNodeAttr, wire::kBytes));
  put_varint(out, 2 + name.size() + wire::varint_size(tag(kAttrBoolList, wire::kBytes)) + 1 + list);
  put_text(out, tag(kAttrName, wire::kBytes), name);
  put_varint(out, tag(kAttrBoolList, wire::kBytes));
  put_varint(out, list);
  if (size == 0) return;
  put_varint(out, tag(1, wire::kBytes));
  put_varint(out, size);
  for (size_t bit = 0; bit < size; bit++) put_varint(out, mask >> bit & 1);
}

/// An attribute with a column of integers, and the member of the oneof that MLCommons' tools use for it.
struct IntegerAttribute {
  std::string_view name;
  AttributeField member;
  std::span<const int64_t> ColumnsView::* column;
};

constexpr IntegerAttribute kIntegerAttributes[] = {
    {"comm_type", kAttrInt64, &ColumnsView::comm_type},
    {"comm_size", kAttrInt64, &ColumnsView::comm_bytes},
    {"comm_src", kAttrInt32, &ColumnsView::comm_src},
    {"comm_dst", kAttrInt32, &ColumnsView::comm_dst},
    {"comm_tag", kAttrInt32, &ColumnsView::comm_tag},
    {"comm_priority", kAttrInt32, &ColumnsView::comm_priority},
    {"comm_root", kAttrInt32, &ColumnsView::root},
    {"num_ops", kAttrInt64, &ColumnsView::num_ops},
    {"tensor_size", kAttrUint64, &ColumnsView::tensor_bytes},
};

/// Refused rather than cut: a trace that says another size than it was given is worse than none.
uint64_t encoded(const IntegerAttribute& attribute, int64_t value, uint64_t id) {
  const bool fits = attribute.member == kAttrInt32    ? value == static_cast<int32_t>(value)
                    : attribute.member == kAttrUint64 ? value >= 0
                                                      : true;
  if (!fits) {
    throw TraceError("node " + std::to_string(id) + ": " + std::string(attribute.name) + " = " + std::to_string(value) +
                     " does not fit its type, " + (attribute.member == kAttrInt32 ? "int32" : "uint64"));
  }
  return static_cast<uint64_t>(value);
}

void put_node(const TraceView& trace, size_t row, std::string& out) {
  const ColumnsView& columns = trace.columns;
  const auto slice = [row](auto offset, auto deps) { return deps.subspan(offset[row], offset[row + 1] - offset[row]); };
  put_field(out, kNodeId, columns.id[row]);
  if (const auto name = trace.strings[columns.name[row]]; !name.empty()) {
    put_text(out, tag(kNodeName, wire::kBytes), name);
  }
  put_field(out, kNodeType, columns.type[row]);
  put_packed(out, kNodeCtrlDeps, slice(columns.ctrl_offset, columns.ctrl_deps));
  put_packed(out, kNodeDataDeps, slice(columns.data_offset, columns.data_deps));
  put_field(out, kNodeStartMicros, columns.start_us[row]);
  put_field(out, kNodeDurationMicros, columns.duration_us[row]);
  // Before the attributes with columns: with the fields of one number in one run, readers see the order of the file.
  const auto rest =
      columns.rest.subspan(columns.rest_offset[row], columns.rest_offset[row + 1] - columns.rest_offset[row]);
  out.append(reinterpret_cast<const char*>(rest.data()), rest.size());
  if (columns.is_cpu_op[row] >= 0) put_attribute(out, "is_cpu_op", kAttrBool, columns.is_cpu_op[row]);
  for (const IntegerAttribute& attribute : kIntegerAttributes) {
    const int64_t value = (columns.*attribute.column)[row];
    if (value != -1) put_attribute(out, attribute.name, attribute.member, encoded(attribute, value, columns.id[row]));
  }
  if (columns.involved_dims[row] > 0) put_bools(out, "involved_dim", columns.involved_dims[row]);
  if (columns.process_group[row] >= 0) {
    put_attribute(out, "pg_name", trace.strings[columns.process_group[row]]);
  }
  if (columns.dtype[row] >= 0) put_attribute(out, "dtype", trace.strings[columns.dtype[row]]);
  if (columns.in_splits[row] >= 0) put_attribute(out, "in_split_size", trace.strings[columns.in_splits[row]]);
  if (static_cast<uint64_t>(columns.duration_ns[row]) != columns.duration_us[row] * 1000) {
    put_attribute(out, "duration_ns", kAttrInt64, columns.duration_ns[row]);
  }
}

}  // namespace

void append_nodes(const TraceView& trace, size_t begin, size_t end, std::string& out) {
  std::string node;
  for (size_t row = begin; row < end; row++) {
    node.clear();
    put_node(trace, row, node);
    put_varint(out, node.size());
    out.append(node);
  }
}

}  // namespace hocket::chakra
