#include "hocket/synthesizer/trees/lanes.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "hocket/columns.hpp"
#include "hocket/error.hpp"

namespace hocket::synthesizer {
namespace {

constexpr int32_t kNone = -1;

}  // namespace

Lanes::Lanes(const Network& network, std::span<const int32_t> images)
    : images_(images.begin(), images.end()),
      order_(std::max(1, static_cast<int32_t>(images.size() / std::max(1, network.num_links())))),
      lane_(network.num_links(), kNone),
      wires_{{0}, {}} {
  check_size(images.size(), static_cast<size_t>(order_) * network.num_links(), "the images of links");
  check_ids(images, network.num_links(), "the images of links");
  std::vector<int32_t> wire(network.users.size(), kNone), members;
  for (int32_t link = 0; link < network.num_links(); link++) {
    const auto refuse = [&](const std::string& why) {
      throw ScheduleError("link " + std::to_string(link) + " " + why + " under the symmetry");
    };
    if (image(0, link) != link) refuse("does not stay in its place under the first element, which leaves all");
    if (lane_[link] != kNone) continue;
    const auto lane = static_cast<int32_t>(hold_.size());
    const auto path = network.path[link];
    // Free, as Orbits: every element but the first moves every link, so a lane has exactly `order` links, and its wires
    // `order` physical links each. Then a schedule of lanes loads all images of a wire alike.
    for (int32_t element = 0; element < order_; element++) {
      const int32_t there = image(element, link);
      if (lane_[there] != kNone) refuse("has fewer images than there are elements, or two orbits,");
      const auto images_path = network.path[there];
      if (network.hold[there] != network.hold[link] || network.travel[there] != network.travel[link] ||
          images_path.size() != path.size()) {
        refuse("becomes one with other times or another number of physical links");
      }
      lane_[there] = lane;
      for (size_t hop = 0; hop < path.size(); hop++) {
        int32_t& mine = wire[images_path[hop]];
        if (mine == kNone) {
          mine = element == 0 ? static_cast<int32_t>(members.size()) : wire[path[hop]];
          if (element == 0) members.push_back(0);
          members[mine]++;
        }
        if (mine != wire[path[hop]]) refuse("has a physical link that other links take elsewhere");
      }
    }
    for (const int32_t physical : path) {
      if (members[wire[physical]] != order_) refuse("has a physical link that stays in its place");
      wires_.ids.push_back(wire[physical]);
    }
    wires_.offset.push_back(static_cast<int32_t>(wires_.ids.size()));
    hold_.push_back(network.hold[link]);
    travel_.push_back(network.travel[link]);
  }
  num_wires_ = static_cast<int32_t>(members.size());
}

Lanes Lanes::alone(const Network& network) {
  std::vector<int32_t> same(network.num_links());
  std::iota(same.begin(), same.end(), 0);
  return Lanes(network, same);
}

Picoseconds Lanes::longest_travel() const { return travel_.empty() ? 0 : *std::ranges::max_element(travel_); }

}  // namespace hocket::synthesizer
