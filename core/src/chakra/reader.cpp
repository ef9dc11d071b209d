#include "hocket/chakra/reader.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "hocket/error.hpp"
#include "interner.hpp"
#include "schema.hpp"
#include "wire.hpp"

namespace hocket::chakra {
namespace {

using namespace schema;
using wire::Cursor;
using wire::Malformed;
using wire::tag;

/// One AttributeProto, as far as columns need it.
struct Attribute {
  enum class Kind { kNone, kInteger, kHuge, kText, kBools, kOther };

  void set(int64_t value) {
    kind = Kind::kInteger;
    integer = value;
  }
  void set_unsigned(uint64_t value) {
    set(static_cast<int64_t>(value));
    if (integer < 0) kind = Kind::kHuge;
  }

  std::string_view name;
  Kind kind = Kind::kNone;
  int64_t integer = 0;
  std::string_view text;
  std::span<const uint8_t> bools;  // a BoolList message
};

/// Any of the oneof's integer types will do, as in ASTRA-sim and Chakra's own tools, which write different ones for the
/// same attribute; floats will not.
Attribute parse_attribute(Cursor cursor) {
  Attribute attribute;
  while (!cursor.at_end()) {
    const uint32_t key = cursor.key();
    switch (key) {
      case tag(kAttrName, wire::kBytes):
        attribute.name = cursor.text();
        break;
      case tag(kAttrDocString, wire::kBytes):
        cursor.bytes();
        break;
      case tag(kAttrInt32, wire::kVarint):
        attribute.set(static_cast<int32_t>(cursor.varint()));
        break;
      case tag(kAttrInt64, wire::kVarint):
        attribute.set(static_cast<int64_t>(cursor.varint()));
        break;
      case tag(kAttrUint32, wire::kVarint):
        attribute.set(static_cast<uint32_t>(cursor.varint()));
        break;
      case tag(kAttrUint64, wire::kVarint):
        attribute.set_unsigned(cursor.varint());
        break;
      case tag(kAttrSint32, wire::kVarint):
        attribute.set(wire::unzigzag(static_cast<uint32_t>(cursor.varint())));
        break;
      case tag(kAttrSint64, wire::kVarint):
        attribute.set(wire::unzigzag(cursor.varint()));
        break;
      case tag(kAttrFixed32, wire::kFixed32):
        attribute.set(cursor.fixed<uint32_t>());
        break;
      case tag(kAttrFixed64, wire::kFixed64):
        attribute.set_unsigned(cursor.fixed<uint64_t>());
        break;
      case tag(kAttrSfixed32, wire::kFixed32):
        attribute.set(cursor.fixed<int32_t>());
        break;
      case tag(kAttrSfixed64, wire::kFixed64):
        attribute.set(cursor.fixed<int64_t>());
        break;
      case tag(kAttrBool, wire::kVarint):
        attribute.set(cursor.varint() != 0);
        break;
      case tag(kAttrString, wire::kBytes):
        attribute.kind = Attribute::Kind::kText;
        attribute.text = cursor.text();
        break;
      case tag(kAttrBoolList, wire::kBytes):
        attribute.kind = Attribute::Kind::kBools;
        attribute.bools = cursor.bytes();
        break;
      default:
        attribute.kind = Attribute::Kind::kOther;
        cursor.skip(key);
    }
  }
  return attribute;
}

/// The values of a BoolList as bits from the lowest, with one more set bit behind the last.
int64_t bits(std::span<const uint8_t> list, const uint8_t* start) {
  constexpr int kMost = 62;
  int64_t mask = 0;
  int size = 0;
  const auto add = [&](bool value) {
    if (size == kMost) throw Malformed(start, "attribute involved_dim has more than 62 values");
    mask |= int64_t{value} << size++;
  };
  for (Cursor cursor(list); !cursor.at_end();) {
    const uint32_t key = cursor.key();
    if (key == tag(1, wire::kVarint)) {
      add(cursor.varint() != 0);
    } else if (key == tag(1, wire::kBytes)) {
      for (Cursor packed(cursor.bytes()); !packed.at_end();) add(packed.varint() != 0);
    } else {
      cursor.skip(key);
    }
  }
  return mask | int64_t{1} << size;
}

/// Equality with a literal as one comparison of words, without a call.
template <size_t size>
bool is(std::string_view name, const char (&text)[size]) {
  return name.size() == size - 1 && std::memcmp(name.data(), text, size - 1) == 0;
}

/// The column of an integer attribute, or null when the attribute has none.
/// A switch over lengths first: at most a few comparisons a name, and no table to look up in a cache.
OwnedColumn<int64_t> Columns::* integer_column(std::string_view name) {
  switch (name.size()) {
    case 7:
      return is(name, "num_ops") ? &Columns::num_ops : nullptr;
    case 8:
      if (is(name, "comm_src")) return &Columns::comm_src;
      if (is(name, "comm_dst")) return &Columns::comm_dst;
      return is(name, "comm_tag") ? &Columns::comm_tag : nullptr;
    case 9:
      if (is(name, "comm_type")) return &Columns::comm_type;
      if (is(name, "comm_size")) return &Columns::comm_bytes;
      return is(name, "comm_root") ? &Columns::root : nullptr;
    case 11:
      if (is(name, "tensor_size")) return &Columns::tensor_bytes;
      return is(name, "duration_ns") ? &Columns::duration_ns : nullptr;
    case 13:
      return is(name, "comm_priority") ? &Columns::comm_priority : nullptr;
    default:
      return nullptr;
  }
}

/// One pass over the bytes into columns, without protobuf's objects: a node of protobuf takes some kilobytes, a row
/// here some hundred bytes, and most time is the strings'.
///
/// Invariant: what is read can be written again byte for byte in meaning. Fields without a column are kept as they
/// stand in the file (`rest`), in their order.
class Reader {
 public:
  Reader(size_t num_nodes, bool keep_rest) : keep_rest_(keep_rest) {
    columns_.id.resize(num_nodes);
    columns_.type.resize(num_nodes);
    columns_.name.resize(num_nodes);
    names_.resize(num_nodes);
    columns_.start_us.resize(num_nodes);
    columns_.duration_us.resize(num_nodes);
    columns_.is_cpu_op.assign(num_nodes, -1);
    columns_.process_group.assign(num_nodes, -1);
    columns_.dtype.assign(num_nodes, -1);
    columns_.in_splits.assign(num_nodes, -1);
    for (auto column : {&Columns::duration_ns, &Columns::comm_type, &Columns::comm_bytes, &Columns::comm_src,
                        &Columns::comm_dst, &Columns::comm_tag, &Columns::comm_priority, &Columns::root,
                        &Columns::num_ops, &Columns::tensor_bytes, &Columns::involved_dims}) {
      (columns_.*column).assign(num_nodes, -1);
    }
    columns_.data_offset.assign(num_nodes + 1, 0);
    columns_.ctrl_offset.assign(num_nodes + 1, 0);
    columns_.rest_offset.assign(num_nodes + 1, 0);
    columns_.data_deps.reserve(num_nodes);
  }

  void read_node(std::span<const uint8_t> record, size_t row) {
    if (record.empty()) throw Malformed(record.data(), "an empty record is not a Node");
    Cursor cursor(record);
    std::string_view name = "";
    while (!cursor.at_end()) {
      const uint8_t* start = cursor.position();
      const uint32_t key = cursor.key();
      switch (key) {
        case tag(kNodeId, wire::kVarint):
          columns_.id[row] = cursor.varint();
          break;
        case tag(kNodeName, wire::kBytes):
          name = cursor.text();
          break;
        case tag(kNodeType, wire::kVarint):
          columns_.type[row] = node_type(start, cursor.varint());
          break;
        case tag(kNodeCtrlDeps, wire::kVarint):
          columns_.ctrl_deps.push_back(cursor.varint());
          break;
        case tag(kNodeCtrlDeps, wire::kBytes):
          append_packed(cursor.bytes(), columns_.ctrl_deps);
          break;
        case tag(kNodeDataDeps, wire::kVarint):
          columns_.data_deps.push_back(cursor.varint());
          break;
        case tag(kNodeDataDeps, wire::kBytes):
          append_packed(cursor.bytes(), columns_.data_deps);
          break;
        case tag(kNodeStartMicros, wire::kVarint):
          columns_.start_us[row] = cursor.varint();
          break;
        case tag(kNodeDurationMicros, wire::kVarint):
          columns_.duration_us[row] = cursor.varint();
          break;
        case tag(kNodeInputs, wire::kBytes):
        case tag(kNodeOutputs, wire::kBytes):
          cursor.bytes();
          keep(start, cursor.position());
          break;
        case tag(kNodeAttr, wire::kBytes):
          if (!store(parse_attribute(Cursor(cursor.bytes())), start, row)) keep(start, cursor.position());
          break;
        default:
          if (key >> 3 <= kNodeAttr) {
            throw Malformed(start, "field " + std::to_string(key >> 3) + " of Node has wire type " +
                                       std::to_string(key & 7) + "; this is no Chakra trace of schema 0.0.4 or later");
          }
          cursor.skip(key);
          keep(start, cursor.position());
      }
    }
    names_[row] = name;
    columns_.data_offset[row + 1] = static_cast<int64_t>(columns_.data_deps.size());
    columns_.ctrl_offset[row + 1] = static_cast<int64_t>(columns_.ctrl_deps.size());
    columns_.rest_offset[row + 1] = static_cast<int64_t>(columns_.rest.size());
    // Hocket's own attribute has nanoseconds; other tools have only the field in microseconds.
    if (columns_.duration_ns[row] == -1) columns_.duration_ns[row] = nanoseconds(record.data(), row);
  }

  Nodes finish() {
    interner_.index_all(names_, columns_.name);
    return {std::move(columns_), interner_.take()};
  }

 private:
  static uint8_t node_type(const uint8_t* start, uint64_t value) {
    if (value >= kNumNodeTypes) throw Malformed(start, "no node type has the number " + std::to_string(value));
    return static_cast<uint8_t>(value);
  }

  static void append_packed(std::span<const uint8_t> packed, OwnedColumn<uint64_t>& out) {
    for (Cursor cursor(packed); !cursor.at_end();) out.push_back(cursor.varint());
  }

  int64_t nanoseconds(const uint8_t* start, size_t row) const {
    constexpr uint64_t kLongest = std::numeric_limits<int64_t>::max() / 1000;
    const uint64_t micros = columns_.duration_us[row];
    if (micros > kLongest) throw Malformed(start, "duration_micros " + std::to_string(micros) + " is too long");
    return static_cast<int64_t>(micros * 1000);
  }

  void keep(const uint8_t* begin, const uint8_t* end) {
    if (keep_rest_) columns_.rest.insert(columns_.rest.end(), begin, end);
  }

  /// Puts the attribute into its column; false if it has none.
  bool store(const Attribute& attribute, const uint8_t* start, size_t row) {
    if (is(attribute.name, "is_cpu_op")) {
      columns_.is_cpu_op[row] = integer(attribute, start) != 0;
    } else if (is(attribute.name, "pg_name")) {
      columns_.process_group[row] = text(attribute, start);
    } else if (is(attribute.name, "dtype")) {
      columns_.dtype[row] = text(attribute, start);
    } else if (is(attribute.name, "in_split_size")) {
      columns_.in_splits[row] = text(attribute, start);
    } else if (is(attribute.name, "involved_dim")) {
      if (attribute.kind != Attribute::Kind::kBools)
        throw Malformed(start, "attribute involved_dim must be a bool_list");
      columns_.involved_dims[row] = bits(attribute.bools, start);
    } else if (const auto column = integer_column(attribute.name)) {
      (columns_.*column)[row] = integer(attribute, start);
    } else {
      return false;
    }
    return true;
  }

  int32_t text(const Attribute& attribute, const uint8_t* start) {
    if (attribute.kind != Attribute::Kind::kText) {
      throw Malformed(start, "attribute " + std::string(attribute.name) + " must be a string");
    }
    return interner_.index(attribute.text);
  }

  static int64_t integer(const Attribute& attribute, const uint8_t* start) {
    if (attribute.kind != Attribute::Kind::kInteger) [[unlikely]] {
      throw Malformed(start,
                      "attribute " + std::string(attribute.name) +
                          (attribute.kind == Attribute::Kind::kHuge ? " exceeds 2^63 - 1" : " must be an integer"));
    }
    return attribute.integer;
  }

  const bool keep_rest_;
  Columns columns_;
  OwnedColumn<std::string_view> names_;
  Interner interner_;
};

size_t count_records(Cursor cursor) {
  size_t count = 0;
  for (; !cursor.at_end(); count++) cursor.bytes();
  return count;
}

[[noreturn]] void refuse(const Place& place, std::span<const uint8_t> bytes, const std::string& what,
                         const Malformed& error) {
  throw FormatError(std::string(place.source) + ": byte " + std::to_string(place.byte + (error.at - bytes.data())) +
                    " (" + what + "): " + error.what());
}

}  // namespace

// For reading in blocks: the bytes of a record that goes on in the next block are left for it. A length that could not
// be one of protobuf's is a damaged file, and not a record still to come.
size_t whole_records(std::span<const uint8_t> bytes, const Place& place) {
  constexpr ptrdiff_t kLongestVarint = 10;
  const uint8_t* const end = bytes.data() + bytes.size();
  const uint8_t* at = bytes.data();
  try {
    while (at != end) {
      if (end - at < kLongestVarint && std::all_of(at, end, [](uint8_t byte) { return byte >= 0x80; })) break;
      Cursor cursor({at, end});
      const uint64_t length = cursor.varint();
      if (length > INT32_MAX) {
        throw Malformed(at, "a record of " + std::to_string(length) + " bytes; a message has less than 2^31");
      }
      if (length > static_cast<uint64_t>(end - cursor.position())) break;
      at = cursor.position() + length;
    }
  } catch (const Malformed& error) {
    refuse(place, bytes, "record framing", error);
  }
  return static_cast<size_t>(at - bytes.data());
}

Nodes read_nodes(std::span<const uint8_t> records, const Place& place, bool keep_rest) {
  std::string what = "record framing";
  size_t row = 0;
  try {
    Cursor cursor(records);
    // Skips from length to length first: columns get their size at once, and never move.
    const size_t num_nodes = count_records(cursor);
    if (num_nodes > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
      throw Malformed(cursor.position(), "more than 2^31 - 1 nodes");
    }
    what.clear();
    Reader reader(num_nodes, keep_rest);
    for (; row < num_nodes; row++) reader.read_node(cursor.bytes(), row);
    return reader.finish();
  } catch (const Malformed& error) {
    refuse(place, records, what.empty() ? "node record " + std::to_string(place.row + row) : what, error);
  }
}

}  // namespace hocket::chakra
