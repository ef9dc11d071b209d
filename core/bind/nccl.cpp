#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "bind.hpp"
#include "hocket/error.hpp"
#include "hocket/nccl/model.hpp"

namespace hocket::bind {
namespace {

constexpr size_t kValues = std::tuple_size_v<decltype(nccl::Element::value)>;

/// `numbers`: kind, parent and values of each element.
std::vector<nccl::Element> elements_of(In<int64_t> numbers) {
  constexpr size_t kWidth = 2 + kValues;
  if (numbers.size() % kWidth != 0) throw TopologyError("a machine's elements are cut off");
  std::vector<nccl::Element> elements(numbers.size() / kWidth);
  for (size_t at = 0; at < elements.size(); at++) {
    const int64_t* row = numbers.data() + at * kWidth;
    const bool known = row[0] >= 0 && row[0] <= static_cast<int64_t>(nccl::Element::Kind::kPciLink);
    const bool inside = row[1] >= -1 && row[1] < static_cast<int64_t>(at);
    if (!known || !inside) throw TopologyError("a machine's element " + std::to_string(at) + " is nowhere");
    elements[at].kind = static_cast<nccl::Element::Kind>(row[0]);
    elements[at].parent = static_cast<int32_t>(row[1]);
    std::copy_n(row + 2, kValues, elements[at].value.begin());
  }
  return elements;
}

nb::dict graph_of(const nccl::Graph& graph, int32_t gpus) {
  nb::dict fields;
  fields["pattern"] = static_cast<int>(graph.pattern);
  fields["cross_nic"] = graph.cross_nic;
  fields["channels"] = graph.channels;
  fields["intra"] = graph.intra;
  fields["inter"] = graph.inter;
  fields["latency"] = graph.latency;
  fields["type_intra"] = graph.type_intra;
  fields["type_inter"] = graph.type_inter;
  fields["same_channels"] = graph.same_channels;
  const auto part = [](const std::vector<int32_t>& all, size_t count) {
    return std::vector<int32_t>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(count, all.size())));
  };
  fields["gpus"] = give(part(graph.gpus, static_cast<size_t>(graph.channels * gpus)));
  fields["nets"] = give(part(graph.nets, static_cast<size_t>(graph.channels * 2)));
  return fields;
}

/// `nccl::Constants`, one after the other.
using Numbers = std::array<double, 144>;

// By their place: the struct is 144 doubles in NCCL's order, which tuner plugins are given too.
nccl::Constants constants_of(In<double> given) {
  Numbers numbers;
  if (given.size() != numbers.size()) throw TopologyError("NCCL has 144 constants");
  std::copy_n(given.data(), numbers.size(), numbers.begin());
  return std::bit_cast<nccl::Constants>(numbers);
}

nccl::Function function_of(int32_t function) {
  if (function < 0 || function >= nccl::kFunctions) throw TopologyError("no such collective");
  return static_cast<nccl::Function>(function);
}

nccl::Algorithm algorithm_of(int32_t algorithm) {
  if (algorithm < 0 || algorithm >= nccl::kAlgorithms) throw TopologyError("no such algorithm");
  return static_cast<nccl::Algorithm>(algorithm);
}

nccl::Protocol protocol_of(int32_t protocol) {
  if (protocol < 0 || protocol >= nccl::kProtocols) throw TopologyError("no such protocol");
  return static_cast<nccl::Protocol>(protocol);
}

}  // namespace

void bind_nccl(nb::module_& m) {
  using nccl::Model, nccl::Settings;
  nb::class_<Settings> settings(m, "Settings");
  settings.def(nb::init<>());
  settings.def(
      "of",
      [](Settings self, int32_t release) {
        self.release = release;
        return self;
      },
      "release"_a);
// Python's names of settings are the members' names, so that neither list can be out of step with the other.
#define HOCKET_SETTING(name) settings.def_rw(#name, &Settings::name)
  HOCKET_SETTING(release);
  HOCKET_SETTING(cross_nic);
  HOCKET_SETTING(p2p_level);
  HOCKET_SETTING(net_gdr_level);
  HOCKET_SETTING(net_gdr_read);
  HOCKET_SETTING(net_gdr_c2c);
  HOCKET_SETTING(pxn_disable);
  HOCKET_SETTING(pxn_c2c);
  HOCKET_SETTING(nvb_disable);
  HOCKET_SETTING(most_net_devices);
  HOCKET_SETTING(min_channels);
  HOCKET_SETTING(max_channels);
  HOCKET_SETTING(min_ctas);
  HOCKET_SETTING(max_ctas);
  HOCKET_SETTING(collnet_enable);
  HOCKET_SETTING(collnet_threshold);
  HOCKET_SETTING(nvls_enable);
  HOCKET_SETTING(nvls_channels);
  HOCKET_SETTING(pat_enable);
  HOCKET_SETTING(ll128_c2c);
  HOCKET_SETTING(net_overhead_ns);
  HOCKET_SETTING(threads);
  HOCKET_SETTING(ll128_threads);
  HOCKET_SETTING(thread_thresholds);
  HOCKET_SETTING(algorithms);
  HOCKET_SETTING(protocols);
#undef HOCKET_SETTING
  settings.def_prop_rw(
      "net_devices", [](const Settings& self) { return static_cast<int>(self.net_devices); },
      [](Settings& self, int policy) { self.net_devices = static_cast<nccl::NetDevices>(policy); });

  m.def("default_constants", [] {
    const auto numbers = std::bit_cast<Numbers>(nccl::Constants{});
    return give(std::vector<double>(numbers.begin(), numbers.end()));
  });
  nb::class_<nccl::Given>(m, "Given")
      .def(nb::init<>())
      .def(
          "add",
          [](nccl::Given& self, int32_t id, int32_t pattern, int32_t cross_nic, float intra, float inter, float latency,
             int32_t type_intra, int32_t type_inter, bool same_channels, int32_t channels, In<int32_t> gpus,
             In<int32_t> nets) {
            if (id < 0 || id >= nccl::kGraphs || pattern < nccl::kBalancedTree || pattern > nccl::kCollNetPattern ||
                channels < 0 || channels > nccl::kMostChannels) {
              throw TopologyError("no such graph");
            }
            nccl::Graph graph{.pattern = static_cast<nccl::Pattern>(pattern), .cross_nic = cross_nic};
            graph.channels = channels;
            graph.intra = intra;
            graph.inter = inter;
            graph.latency = latency;
            graph.type_intra = type_intra;
            graph.type_inter = type_inter;
            graph.same_channels = same_channels;
            graph.gpus = copy(gpus);
            graph.nets = copy(nets);
            self.graphs.emplace_back(static_cast<nccl::GraphId>(id), std::move(graph));
          },
          "id"_a, "pattern"_a, "cross_nic"_a, "intra"_a, "inter"_a, "latency"_a, "type_intra"_a, "type_inter"_a,
          "same_channels"_a, "channels"_a, "gpus"_a, "nets"_a);

  nb::class_<Model>(m, "Model")
      .def(
          "__init__",
          [](Model* self, const std::vector<std::pair<In<int64_t>, int32_t>>& kinds, const Settings& settings,
             In<double> constants, const nccl::Given& given) {
            std::vector<nccl::MachineKind> read;
            for (const auto& [elements, machines] : kinds) read.push_back({elements_of(elements), machines});
            const nccl::Constants numbers = constants_of(constants);
            // The search for channels may take seconds on a large machine.
            nb::gil_scoped_release release;
            new (self) Model(read, settings, numbers, given);
          },
          "kinds"_a, "settings"_a, "constants"_a, "given"_a = nccl::Given{})
      .def(
          "choose",
          [](const Model& self, int32_t function, In<int64_t> bytes, int32_t operations) {
            std::vector<int32_t> algorithm, protocol, channels, warps;
            std::vector<float> time;
            for (const int64_t size : view(bytes)) {
              const nccl::Choice choice = self.choose(function_of(function), size, operations);
              algorithm.push_back(choice.algorithm);
              protocol.push_back(choice.protocol);
              time.push_back(choice.time);
              channels.push_back(choice.channels);
              warps.push_back(choice.warps);
            }
            return nb::make_tuple(give(std::move(algorithm)), give(std::move(protocol)), give(std::move(time)),
                                  give(std::move(channels)), give(std::move(warps)));
          },
          "function"_a, "bytes"_a, "operations"_a = 1)
      .def(
          "terms",
          [](const Model& self, int32_t function, int64_t bytes, int32_t operations) {
            nb::list rows;
            for (int32_t a = 0; a < nccl::kAlgorithms; a++) {
              for (int32_t p = 0; p < nccl::kProtocols; p++) {
                const auto algorithm = static_cast<nccl::Algorithm>(a);
                const auto protocol = static_cast<nccl::Protocol>(p);
                const nccl::Term& term = self.term(function_of(function), algorithm, protocol);
                rows.append(nb::make_tuple(a, p, static_cast<int>(term.out), term.latency, term.bandwidth,
                                           self.time(function_of(function), algorithm, protocol, bytes, operations)));
              }
            }
            return rows;
          },
          "function"_a, "bytes"_a, "operations"_a = 1)
      .def(
          "steps",
          [](const Model& self, int32_t algorithm, int32_t protocol) {
            const nccl::Steps steps = self.steps(algorithm_of(algorithm), protocol_of(protocol));
            return nb::make_tuple(steps.base, steps.inside, steps.between);
          },
          "algorithm"_a, "protocol"_a)
      .def(
          "channels_for",
          [](const Model& self, int32_t algorithm, int32_t protocol, int64_t bytes) {
            return self.launch(algorithm_of(algorithm), protocol_of(protocol), bytes).channels;
          },
          "algorithm"_a, "protocol"_a, "bytes"_a)
      .def(
          "graph",
          [](const Model& self, int32_t id, int32_t kind) {
            if (id < 0 || id >= nccl::kGraphs || kind < 0 || kind >= self.kinds()) {
              throw TopologyError("no such graph");
            }
            return graph_of(self.graph_on(kind, static_cast<nccl::GraphId>(id)), self.gpus_on(kind));
          },
          "id"_a, "kind"_a = 0)
      .def(
          "relays",
          [](const Model& self, int32_t kind) {
            if (kind < 0 || kind >= self.kinds()) throw TopologyError("no such kind of machine");
            return give(std::vector<int32_t>(self.relays_on(kind)));
          },
          "kind"_a = 0)
      .def_prop_ro("channels", &Model::channels)
      .def_prop_ro("nvls_channels", &Model::nvls_channels)
      .def_prop_ro("machines", [](const Model& self) { return self.job().machines; })
      .def_prop_ro("ranks", [](const Model& self) { return self.job().ranks; });
  bind_nccl_tuner(m);
}

}  // namespace hocket::bind
