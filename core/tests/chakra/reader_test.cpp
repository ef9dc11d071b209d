#include "hocket/chakra/reader.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "hocket/chakra/dependencies.hpp"
#include "hocket/chakra/writer.hpp"
#include "hocket/error.hpp"

namespace hocket::chakra {
namespace {

std::span<const uint8_t> bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

/// At most 127 nodes, so that every number is one byte: records of `num_nodes` nodes "a" of type COMP with id and
/// comm_size 1, 2, ..., each after the last.
std::string sample(uint64_t num_nodes) {
  std::string file;
  for (uint64_t id = 1; id <= num_nodes; id++) {
    const char small = static_cast<char>(id);
    std::string node = {'\x08', small, '\x12', '\x01', 'a', '\x18', '\x04'};
    if (id > 1) node += {'\x2a', '\x01', static_cast<char>(id - 1)};
    node += {'\x52', '\x0d', '\x0a', '\x09'};
    node += "comm_size";
    node += {'\x48', small};
    file += static_cast<char>(node.size());
    file += node;
  }
  return file;
}

TraceView view_of(const Nodes& trace) {
  TraceView view;
  view.strings.assign(trace.strings.begin(), trace.strings.end());
  const Columns& columns = trace.columns;
  view.columns = {
      columns.id,          columns.type,      columns.name,          columns.start_us,      columns.duration_us,
      columns.duration_ns, columns.is_cpu_op, columns.comm_type,     columns.comm_bytes,    columns.comm_src,
      columns.comm_dst,    columns.comm_tag,  columns.comm_priority, columns.process_group, columns.dtype,
      columns.root,        columns.num_ops,   columns.tensor_bytes,  columns.involved_dims, columns.in_splits,
      columns.data_offset, columns.data_deps, columns.ctrl_offset,   columns.ctrl_deps,     columns.rest_offset,
      columns.rest};
  return view;
}

TEST(ChakraReader, ReadsColumnsAndWritesTheSameBytes) {
  const std::string file = sample(100);
  const Nodes trace = read_nodes(bytes(file), {"a.0.et"});
  ASSERT_EQ(trace.columns.size(), 100u);
  EXPECT_EQ(trace.strings.size(), 1u);
  EXPECT_EQ(trace.columns.comm_bytes[99], 100);
  EXPECT_EQ(trace.columns.comm_src[99], -1);
  EXPECT_EQ(trace.columns.data_deps.back(), 99u);
  const TraceView view = view_of(trace);
  view.check();
  std::string written;
  append_nodes(view, 0, 40, written);
  append_nodes(view, 40, 100, written);
  EXPECT_EQ(written, file);
  EXPECT_TRUE(find_dependency_faults(view.columns, 16).dangling.empty());
}

TEST(ChakraReader, EveryPrefixIsReadOrRefused) {
  const std::string file = sample(5);
  size_t whole = 0;
  for (size_t length = 0; length <= file.size(); length++) {
    // A copy of exactly this length: the sanitizer sees a read past it.
    const std::vector<uint8_t> prefix(file.begin(), file.begin() + static_cast<ptrdiff_t>(length));
    try {
      read_nodes(prefix, {"a.0.et"});
      whole++;
    } catch (const FormatError& error) {
      EXPECT_EQ(std::string(error.what()).find("a.0.et: byte "), 0u);
    }
  }
  EXPECT_EQ(whole, 6u);  // nothing, and after each of the five nodes
}

TEST(ChakraReader, RecordsAreCutWhereverABlockEnds) {
  const std::string file = sample(5);
  const Nodes whole = read_nodes(bytes(file), {"a.0.et"});
  for (size_t length = 0; length <= file.size(); length++) {
    const size_t cut = whole_records(bytes(file).first(length), {"a.0.et"});
    ASSERT_LE(cut, length);
    const Nodes before = read_nodes(bytes(file).first(cut), {"a.0.et"});
    const Nodes after = read_nodes(bytes(file).subspan(cut), {"a.0.et", cut, before.columns.size()});
    EXPECT_EQ(before.columns.size() + after.columns.size(), whole.columns.size());
    if (before.columns.size() < 5) EXPECT_EQ(after.columns.id.front(), before.columns.size() + 1);
  }
}

TEST(ChakraReader, FieldsWithoutAColumnComeBackAsTheyWere) {
  // id 1, inputs {values "x"}, attribute {name "y", int64 3}, and field 15, which no schema has.
  const std::string node = {'\x08', '\x01', '\x42', '\x03', '\x0a', '\x01', 'x',    '\x52',
                            '\x05', '\x0a', '\x01', 'y',    '\x48', '\x03', '\x78', '\x05'};
  const std::string file = static_cast<char>(node.size()) + node;
  for (const bool keep_rest : {false, true}) {
    const Nodes trace = read_nodes(bytes(file), {"a.0.et"}, keep_rest);
    std::string written;
    append_nodes(view_of(trace), 0, 1, written);
    EXPECT_EQ(written, keep_rest ? file : std::string("\x02\x08\x01"));
  }
}

TEST(ChakraReader, EveryChangedByteIsReadOrRefused) {
  const std::string file = sample(3);
  for (size_t place = 0; place < file.size(); place++) {
    for (int value = 0; value < 256; value++) {
      std::vector<uint8_t> changed(file.begin(), file.end());
      changed[place] = static_cast<uint8_t>(value);
      try {
        const Nodes trace = read_nodes(changed, {"a.0.et"});
        EXPECT_EQ(trace.columns.data_offset.size(), trace.columns.size() + 1);
      } catch (const FormatError&) {
      }
    }
  }
}

}  // namespace
}  // namespace hocket::chakra
