#include "../../src/simulator/network/max_min.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "hocket/splitmix.hpp"

namespace hocket::simulator {
namespace {

/// Bytes/s of a weight of 1, for comparisons.
double value(const Rate& rate) {
  return static_cast<double>(rate.units) / static_cast<double>(rate.among) / kUnitsPerByte;
}

struct Random {
  uint64_t state;
  uint64_t below(uint64_t bound) {
    const uint64_t number = splitmix64(state);
    state += kSplitMixStep;
    return number % bound;
  }
};

using Flows = std::map<uint32_t, std::vector<int32_t>>;

/// All rates from nothing: raise all flows alike until a link is full, leave its flows there, go on with the others.
std::map<uint32_t, double> progressive_filling(const std::vector<Bandwidth>& capacity, const Flows& flows,
                                               const std::vector<int64_t>& weight) {
  std::map<uint32_t, double> rate;
  std::vector<double> left(capacity.begin(), capacity.end());
  while (rate.size() < flows.size()) {
    std::vector<int64_t> filling(capacity.size(), 0);
    for (const auto& [flow, links] : flows) {
      for (const int32_t link : links) filling[link] += rate.contains(flow) ? 0 : weight[flow];
    }
    double share = std::numeric_limits<double>::infinity();
    size_t lowest = 0;
    for (size_t link = 0; link < capacity.size(); link++) {
      if (filling[link] == 0 || left[link] / static_cast<double>(filling[link]) >= share) continue;
      share = left[link] / static_cast<double>(filling[link]);
      lowest = link;
    }
    for (const auto& [flow, links] : flows) {
      if (rate.contains(flow) || std::ranges::find(links, static_cast<int32_t>(lowest)) == links.end()) continue;
      rate[flow] = share;
      for (const int32_t link : links) left[link] -= share * static_cast<double>(weight[flow]);
    }
  }
  return rate;
}

TEST(MaxMin, AloneHasTheNarrowestLink) {
  const std::vector<Bandwidth> capacity{50, 20, 30};
  const std::vector<int32_t> links{0, 1, 2};
  MaxMin sharing(capacity);
  sharing.add(0, links);
  EXPECT_EQ(sharing.update(), std::vector<uint32_t>{0});
  EXPECT_EQ(sharing.rate(0), (Rate{20 * Units{kUnitsPerByte}, 1}));
}

TEST(MaxMin, SharesAsInTheTextbook) {
  // Links of 10 and 8. Flow 0 over both, 1 and 2 over the first, 3 over the second: the first gives 10 / 3 to each of
  // its three, and flow 3 has 8 - 10 / 3 = 14 / 3.
  const std::vector<Bandwidth> capacity{10, 8};
  const std::vector<int32_t> both{0, 1}, first{0}, second{1};
  MaxMin sharing(capacity);
  sharing.add(0, both);
  sharing.add(1, first);
  sharing.add(2, first);
  sharing.add(3, second);
  EXPECT_EQ(sharing.update().size(), 4u);
  const Units unit = kUnitsPerByte;
  EXPECT_EQ(sharing.rate(0), (Rate{10 * unit, 3}));
  EXPECT_EQ(sharing.rate(3), (Rate{14 * unit, 3}));
  // Without flow 1 the second link is the narrow one: 8 / 2 = 4 each, and flow 2 has the rest of the first, 6.
  sharing.remove(1);
  EXPECT_EQ(sharing.update().size(), 3u);
  EXPECT_EQ(sharing.rate(0), (Rate{4 * unit, 1}));
  EXPECT_EQ(sharing.rate(2), (Rate{6 * unit, 1}));
  EXPECT_EQ(sharing.rate(3), (Rate{4 * unit, 1}));
}

TEST(MaxMin, StandsForFlowsAlike) {
  // To the unit, whatever came before: one flow for several is as if all of them came and went together.
  Random random{7};
  const std::vector<Bandwidth> capacity{97, 41, 1009, 13, 200};
  for (int round = 0; round < 50; round++) {
    const int64_t alike = 1 + static_cast<int64_t>(random.below(5));
    MaxMin folded(capacity), all(capacity);
    std::map<uint32_t, std::vector<int32_t>> present;
    for (uint32_t step = 0; step < 40; step++) {
      if (!present.empty() && random.below(3) == 0) {
        const uint32_t gone = std::next(present.begin(), static_cast<int64_t>(random.below(present.size())))->first;
        folded.remove(gone);
        for (uint32_t copy = 0; copy < alike; copy++) all.remove(gone * 8 + copy);
        folded.update();
        all.update();
        present.erase(gone);
      } else {
        std::vector<int32_t>& links = present[step];
        for (int32_t link = 0; link < std::ssize(capacity); link++) {
          if (random.below(2) == 0) links.push_back(link);
        }
        if (links.empty()) links.push_back(0);
        const auto weight = static_cast<int64_t>(1 + random.below(3));
        folded.add(step, links, weight, alike);
        for (uint32_t copy = 0; copy < alike; copy++) all.add(step * 8 + copy, links, weight);
        folded.update();
        all.update();
      }
      for (const auto& [flow, links] : present) {
        const Rate one = folded.rate(flow), other = all.rate(flow * 8);
        EXPECT_TRUE(one.units == other.units && one.among == other.among);
      }
    }
  }
}

TEST(MaxMin, SharesByWeight) {
  // A link of 12 among a whole flow and a quarter of one: 12 * 4 / 5 and 12 / 5; another quarter has 1 elsewhere, the
  // narrowest for its weight.
  const std::vector<Bandwidth> capacity{12, 1};
  const std::vector<int32_t> first{0}, both{0, 1};
  MaxMin sharing(capacity);
  sharing.add(0, first, 4);
  sharing.add(1, first, 1);
  sharing.update();
  const Units unit = kUnitsPerByte;
  EXPECT_EQ(sharing.rate(0), (Rate{12 * unit, 5}));
  EXPECT_EQ(sharing.rate(1), (Rate{12 * unit, 5}));
  sharing.add(2, both, 1);
  sharing.update();
  EXPECT_EQ(sharing.rate(2), (Rate{unit, 1}));
  EXPECT_EQ(sharing.rate(0), (Rate{11 * unit, 5}));
}

TEST(MaxMin, ComparesWhatWouldNotFit) {
  // Both are 2^82 / (2^50 + 1) within 2^-18: cross products have 132 bits.
  const Units large = Units{1} << 82;
  const int64_t many = (int64_t{1} << 50) + 1;
  EXPECT_TRUE((Rate{large, many}) < (Rate{large + 1, many}));
  EXPECT_FALSE((Rate{large + 1, many}) < (Rate{large, many}));
  EXPECT_TRUE((Rate{large, many + 1}) < (Rate{large, many}));
  EXPECT_TRUE((Rate{3 * large / 4, many}) == (Rate{3 * large / 2, 2 * many}));
  EXPECT_FALSE((Rate{large, many}) == (Rate{}));
}

TEST(MaxMin, LeavesAloneWhoIsNotConcerned) {
  const std::vector<Bandwidth> capacity{10, 10};
  const std::vector<int32_t> first{0}, second{1};
  MaxMin sharing(capacity);
  sharing.add(0, first);
  sharing.add(1, second);
  sharing.update();
  sharing.add(2, second);
  std::vector<uint32_t> changed = sharing.update();
  std::ranges::sort(changed);
  EXPECT_EQ(changed, (std::vector<uint32_t>{1, 2}));
}

TEST(MaxMin, EqualLinksFillTogether) {
  // Seven senders to seven receivers, everybody to everybody: no link is filled before another, so all have 10^9 / 7.
  const int32_t ranks = 7;
  const std::vector<Bandwidth> capacity(2 * ranks, 1'000'000'000);
  std::vector<std::vector<int32_t>> links;
  for (int32_t src = 0; src < ranks; src++) {
    for (int32_t dst = 0; dst < ranks; dst++) links.push_back({src, ranks + dst});
  }
  MaxMin sharing(capacity);
  for (uint32_t flow = 0; flow < links.size(); flow++) sharing.add(flow, links[flow]);
  sharing.update();
  for (uint32_t flow = 0; flow < links.size(); flow++) {
    EXPECT_EQ(sharing.rate(flow), (Rate{Units{1'000'000'000} * kUnitsPerByte, ranks}));
  }
}

TEST(MaxMin, IncrementsGiveWhatAFreshStartGives) {
  Random random{1};
  for (int trial = 0; trial < 60; trial++) {
    const size_t num_links = 2 + random.below(12);
    std::vector<Bandwidth> capacity;
    for (size_t link = 0; link < num_links; link++) capacity.push_back(1'000'000 * (1 + random.below(9)));
    MaxMin sharing(capacity);
    Flows flows;
    std::vector<int64_t> weight(25, 1);
    // Small weights, and such that their comparisons would not fit.
    const int64_t unit = trial % 3 == 2 ? int64_t{1} << 38 : 1;
    for (int step = 0; step < 60; step++) {
      std::set<uint32_t> changed;
      for (uint64_t change = random.below(3); change < 3; change++) {
        const auto flow = static_cast<uint32_t>(random.below(25));
        if (!changed.insert(flow).second) continue;
        if (flows.contains(flow)) {
          sharing.remove(flow);
          flows.erase(flow);
          continue;
        }
        std::vector<int32_t> links;
        for (size_t link = 0; link < num_links; link++) {
          if (random.below(3) == 0) links.push_back(static_cast<int32_t>(link));
        }
        if (links.empty()) links.push_back(0);
        if (trial % 3 > 0) weight[flow] = unit * static_cast<int64_t>(1 + random.below(4));
        sharing.add(flow, flows.emplace(flow, std::move(links)).first->second, weight[flow]);
      }
      sharing.update();
      std::vector<double> load(num_links, 0);
      for (const auto& [flow, expected] : progressive_filling(capacity, flows, weight)) {
        const double rate = value(sharing.rate(flow)) * static_cast<double>(weight[flow]);
        EXPECT_NEAR(rate, expected * static_cast<double>(weight[flow]), 1e-3) << "flow " << flow << " at step " << step;
        for (const int32_t link : flows[flow]) load[link] += rate;
      }
      for (size_t link = 0; link < num_links; link++) EXPECT_LE(load[link], static_cast<double>(capacity[link]) + 1e-6);
    }
  }
}

}  // namespace
}  // namespace hocket::simulator
