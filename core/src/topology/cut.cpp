#include "hocket/topology/cut.hpp"

#include <cstddef>

namespace hocket::topology {
namespace {

constexpr int kMostNamed = 12;

/// The positions of `value` as `ranks 0-3,6`.
/// Ranges, because the message is for people: half of a cluster has thousands of ranks.
std::string list(const std::vector<bool>& of, bool value) {
  std::string text;
  size_t ranges = 0, count = 0;
  for (size_t first = 0; first < of.size(); first++) {
    if (of[first] != value) continue;
    size_t last = first;
    while (last + 1 < of.size() && of[last + 1] == value) last++;
    count += last - first + 1;
    if (ranges++ < kMostNamed) {
      text += (text.empty() ? "" : ",") + std::to_string(first) + (last > first ? "-" + std::to_string(last) : "");
    }
    first = last;
  }
  return (count == 1 ? "rank " : "ranks ") + text + (ranges > kMostNamed ? ",..." : "");
}

}  // namespace

std::string describe_cut(const std::vector<bool>& reached) {
  return "no link joins " + list(reached, true) + " and " + list(reached, false) +
         " in the direction needed; connect them";
}

}  // namespace hocket::topology
