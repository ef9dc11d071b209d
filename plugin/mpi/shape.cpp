#include "shape.hpp"

#include "json.hpp"

namespace hocket::mpi {

std::string Shape::line(int64_t id) const {
  JsonLine line("shape");
  line.add("id", id).add("op", op).add("kind", kind).add("group", group);
  line.add("in", input_bytes).add("out", output_bytes);
  if (*type != '\0') line.add("dtype", type);
  if (is_async) line.add("async", 1);
  if (root >= 0) line.add("root", root);
  if (peer >= 0) line.add("peer", peer);
  if (tag != 0) line.add("tag", tag);
  if (*reduction != '\0') line.add("reduce", reduction);
  if (!input_splits.empty()) line.add("in_splits", input_splits);
  if (!output_splits.empty()) line.add("out_splits", output_splits);
  return line.finish();
}

size_t ShapeHash::operator()(const Shape& shape) const {
  uint64_t hash = 0;
  const auto mix = [&hash](uint64_t value) {  // splitmix64
    hash += value + 0x9e3779b97f4a7c15;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
    hash ^= hash >> 27;
  };
  // By address: the strings are literals, equal only where they are the same.
  mix(reinterpret_cast<uintptr_t>(shape.op));
  mix(static_cast<uint64_t>(shape.group));
  mix(static_cast<uint64_t>(shape.input_bytes));
  mix(static_cast<uint64_t>(shape.output_bytes));
  mix(static_cast<uint64_t>(shape.peer) << 32 | static_cast<uint32_t>(shape.tag));
  for (const int64_t bytes : shape.input_splits) mix(static_cast<uint64_t>(bytes));
  for (const int64_t bytes : shape.output_splits) mix(static_cast<uint64_t>(bytes));
  return hash;
}

}  // namespace hocket::mpi
