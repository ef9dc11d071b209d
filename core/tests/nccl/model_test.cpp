#include "hocket/nccl/model.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "hocket/error.hpp"

namespace hocket::nccl {
namespace {

using Kind = Element::Kind;

/// A CPU of `gpus` H100 on an NVSwitch (18 links in two parts), each on a PCI Gen5 switch with a NIC of 400 Gbit/s.
std::vector<Element> machine(int64_t gpus) {
  std::vector<Element> elements{{Kind::kCpu, -1, {0, 0, 1, 22'000}}};
  const auto add = [&](Kind kind, int32_t parent, decltype(Element::value) value) {
    elements.push_back({kind, parent, value});
    return static_cast<int32_t>(elements.size()) - 1;
  };
  for (int64_t gpu = 0; gpu < gpus; gpu++) {
    const int32_t above = add(Kind::kPci, 0, {1 + 3 * gpu, 0, 0, 240, 16});
    const int32_t gpu_device = add(Kind::kPci, above, {2 + 3 * gpu, 1, 0, 240, 16});
    const int32_t number = add(Kind::kGpu, gpu_device, {gpu, 90, 1});
    add(Kind::kNvLink, number, {0, 1, 10, 20'600});
    add(Kind::kNvLink, number, {0, 1, 8, 20'600});
    const int32_t nic = add(Kind::kNic, add(Kind::kPci, above, {3 + 3 * gpu, 4, 0, 240, 16}), {});
    add(Kind::kNet, nic, {gpu, 400'000, 1, 1, gpu, -1, -1, 0});
  }
  return elements;
}

TEST(NcclSystem, LinksOfEqualEndsAreOneAndTheOneUpIsLast) {
  const System system = read_system(machine(2));
  ASSERT_EQ(system.count(kNvSwitch), 1);
  const std::vector<int32_t>& links = system.node(kDevice, 0).links;
  ASSERT_EQ(links.size(), 3u);  // to its GPU, to the NVSwitch, up
  EXPECT_EQ(system.links[links[0]].type, kLoc);
  EXPECT_NEAR(system.links[links[1]].bandwidth, 18 * 20.6, 1e-3);
  EXPECT_EQ(system.links[links[2]].bandwidth, 48);  // 16 lanes x 24 Gbit/s / 8
}

TEST(NcclSystem, PathsAreNearestFirst) {
  System system = read_system(machine(2));
  system.inter = true;
  compute_paths(system, {});
  EXPECT_EQ(system.path(kGpu, 0, kGpu, 1).type, kNvl);
  EXPECT_EQ(system.path(kGpu, 0, kNet, 0).type, kPix);
  EXPECT_EQ(system.path(kGpu, 0, kNet, 1).type, kPxn);  // by way of the other GPU instead of the CPU
  EXPECT_EQ(system.path(kNet, 1, kGpu, 0).type, kPhb);  // which is for sending only
  EXPECT_EQ(local_net(system, {}, 1, 5), 1);
}

TEST(NcclSearch, GivesBackWhatItTakes) {
  System system = read_system(machine(4));
  compute_paths(system, {});
  const std::vector<Link> before = system.links;
  const Graph ring = search(system, {}, {.pattern = kRingPattern, .max_channels = 32});
  EXPECT_GE(ring.channels, 1);
  EXPECT_LE(static_cast<float>(ring.channels) * ring.intra, system.total_bandwidth);
  for (size_t link = 0; link < before.size(); link++) {
    EXPECT_NEAR(system.links[link].bandwidth, before[link].bandwidth, 1e-2);
  }
}

Model model_of(std::vector<Element> elements, int32_t machines, const Settings& settings = {}) {
  const MachineKind kind{std::move(elements), machines};
  return Model({&kind, 1}, settings);
}

// Ranks of all machines agree on the least that any has found.
TEST(NcclModel, CountsWithTheLeastOfItsMachines) {
  const std::array<MachineKind, 2> kinds{MachineKind{machine(4), 1}, MachineKind{machine(2), 2}};
  const Model mixed(kinds, {}), turned(std::array{kinds[1], kinds[0]}, {});
  EXPECT_EQ(mixed.job().ranks, 8);
  EXPECT_EQ(mixed.job().machines, 3);
  EXPECT_EQ(mixed.gpus_on(0), 4);
  EXPECT_EQ(mixed.gpus_on(1), 2);
  EXPECT_LE(mixed.ring().channels, model_of(machine(4), 3).ring().channels);
  EXPECT_LE(mixed.ring().channels, model_of(machine(2), 3).ring().channels);
  for (int32_t a = 0; a < kAlgorithms; a++) {
    for (int32_t p = 0; p < kProtocols; p++) {
      const auto algorithm = static_cast<Algorithm>(a);
      const auto protocol = static_cast<Protocol>(p);
      EXPECT_EQ(mixed.time(kAllReduce, algorithm, protocol, 1 << 20),
                turned.time(kAllReduce, algorithm, protocol, 1 << 20));
    }
  }
}

TEST(NcclModel, RefusesWhatIsNoMachine) {
  EXPECT_THROW(Model({}, {}), TopologyError);
  EXPECT_THROW(model_of({}, 1), TopologyError);
  EXPECT_THROW(model_of(machine(1), 1), TopologyError);
  EXPECT_THROW(model_of(machine(2), 0), TopologyError);
  std::vector<Element> elements = machine(2);
  elements[3].parent = 0;  // a GPU that is no PCI device
  EXPECT_THROW(model_of(elements, 1), TopologyError);
  elements = machine(2);
  elements[1].value[4] = -16;  // lanes
  EXPECT_THROW(model_of(elements, 1), TopologyError);
}

TEST(NcclModel, TakesTheLeastTime) {
  const Model model = model_of(machine(4), 2);
  for (int64_t bytes = 8; bytes <= int64_t{1} << 34; bytes *= 4) {
    const Choice choice = model.choose(kAllReduce, bytes);
    for (int32_t a = 0; a < kAlgorithms; a++) {
      for (int32_t p = 0; p < kProtocols; p++) {
        const float us = model.time(kAllReduce, static_cast<Algorithm>(a), static_cast<Protocol>(p), bytes);
        EXPECT_TRUE(us < 0 || us >= choice.time);
      }
    }
  }
  Settings settings;
  for (auto& row : settings.algorithms) row.fill(0);
  EXPECT_THROW(model_of(machine(4), 2, settings).choose(kAllReduce, 8), Infeasible);
}

}  // namespace
}  // namespace hocket::nccl
