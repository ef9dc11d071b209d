#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <array>
#include <optional>
#include <tuple>

#include "bind.hpp"
#include "hocket/nccl/tuner/choice.hpp"
#include "hocket/nccl/tuner/table.hpp"

namespace hocket::bind {
namespace {

using nccl::CommunicatorRules, nccl::Range, nccl::SizeRange, nccl::TunerConstant, nccl::TunerRule, nccl::TunerTable;

nccl::TunerShape shape_of(int64_t nodes, int64_t ranks,
                          const std::optional<std::tuple<int32_t, int32_t, int32_t>>& domains) {
  nccl::TunerShape shape{.nodes = nodes, .ranks = ranks};
  if (domains) std::tie(shape.domains, shape.least_domain_ranks, shape.most_domain_ranks) = *domains;
  return shape;
}

nccl::Function function_of(int32_t function) {
  if (function < 0 || function >= nccl::kFunctions) throw std::out_of_range("no such collective");
  return static_cast<nccl::Function>(function);
}

template <class Class>
void range(Class& type, const char* name, Range TunerRule::* member) {
  type.def_prop_ro(name,
                   [member](const TunerRule& self) { return std::tuple((self.*member).least, (self.*member).most); });
}

template <class Class>
void sizes(Class& type, const char* name, SizeRange TunerRule::* member) {
  type.def_prop_ro(name,
                   [member](const TunerRule& self) { return std::tuple((self.*member).least, (self.*member).most); });
}

}  // namespace

// The parser and the choice are the plugin's own code: what `hocket nccl tuner check` says is what NCCL will be told.
void bind_nccl_tuner(nb::module_& m) {
  nb::class_<TunerRule> rule(m, "TunerRule");
  rule.def_ro("line", &TunerRule::line)
      .def_prop_ro("function", [](const TunerRule& self) { return static_cast<int>(self.function); })
      .def_ro("algorithm", &TunerRule::algorithm)
      .def_ro("protocol", &TunerRule::protocol)
      .def_ro("channels", &TunerRule::channels)
      .def_ro("chunk_bytes", &TunerRule::chunk_bytes);
  sizes(rule, "bytes", &TunerRule::bytes);
  sizes(rule, "bytes_per_rank", &TunerRule::bytes_per_rank);
  range(rule, "nodes", &TunerRule::nodes);
  range(rule, "ranks", &TunerRule::ranks);
  range(rule, "pipe_operations", &TunerRule::pipe_operations);
  range(rule, "registered", &TunerRule::registered);
  range(rule, "domains", &TunerRule::domains);
  range(rule, "least_domain_ranks", &TunerRule::least_domain_ranks);
  range(rule, "most_domain_ranks", &TunerRule::most_domain_ranks);

  nb::class_<TunerConstant>(m, "TunerConstant")
      .def_ro("line", &TunerConstant::line)
      .def_ro("index", &TunerConstant::index)
      .def_ro("value", &TunerConstant::value)
      .def_prop_ro("nodes", [](const TunerConstant& self) { return std::tuple(self.nodes.least, self.nodes.most); })
      .def_prop_ro("ranks", [](const TunerConstant& self) { return std::tuple(self.ranks.least, self.ranks.most); });

  nb::class_<CommunicatorRules>(m, "CommunicatorRules")
      .def(
          "__init__",
          [](CommunicatorRules* self, const TunerTable& table, int64_t nodes, int64_t ranks,
             const std::optional<std::tuple<int32_t, int32_t, int32_t>>& domains) {
            new (self) CommunicatorRules(table, shape_of(nodes, ranks, domains));
          },
          "table"_a, "nodes"_a, "ranks"_a, "domains"_a = nb::none())
      .def(
          "choose",
          [](const CommunicatorRules& self, int32_t function, uint64_t bytes, int32_t pipe_operations,
             int32_t registered, In<float> costs) {
            if (costs.size() != size_t{nccl::kAlgorithms} * nccl::kProtocols) {
              throw std::out_of_range("costs: expected 7 x 3");
            }
            std::vector<int32_t> unavailable;
            const nccl::TunerChoice choice = self.choose({function_of(function), bytes, pipe_operations, registered},
                                                         {costs.data(), nccl::kAlgorithms, nccl::kProtocols},
                                                         [&](int32_t index) { unavailable.push_back(index); });
            return nb::make_tuple(choice.rule, choice.algorithm, choice.protocol, choice.channels, unavailable);
          },
          "function"_a, "bytes"_a, "pipe_operations"_a, "registered"_a, "costs"_a)
      .def(
          "chunk_bytes",
          [](const CommunicatorRules& self, int32_t function, uint64_t bytes, int32_t algorithm, int32_t protocol,
             uint64_t own) { return self.chunk_bytes(function_of(function), bytes, algorithm, protocol, own); },
          "function"_a, "bytes"_a, "algorithm"_a, "protocol"_a, "own"_a);
  m.def("limits_channels", &nccl::limits_channels, "algorithm"_a, "nodes"_a);

  nb::class_<TunerTable>(m, "TunerTable")
      .def(
          "__init__",
          [](TunerTable* self, nb::bytes text) {
            new (self) TunerTable(nccl::parse_tuner_table({text.c_str(), text.size()}));
          },
          "text"_a)
      .def_prop_ro("rules", [](const TunerTable& self) { return self.rules; })
      .def_prop_ro("constants", [](const TunerTable& self) { return self.constants; })
      .def_prop_ro("problems",
                   [](const TunerTable& self) {
                     std::vector<std::tuple<int32_t, std::string>> problems;
                     for (const nccl::TunerProblem& problem : self.problems) {
                       problems.emplace_back(problem.line, problem.text);
                     }
                     return problems;
                   })
      .def(
          "rewrite_constants",
          [](const TunerTable& self, int64_t nodes, int64_t ranks, In<double> constants) {
            std::vector<double> rewritten = copy(constants);
            if (rewritten.size() != nccl::kTunerConstants) throw std::out_of_range("constants: expected 144");
            nccl::rewrite_constants(self, {.nodes = nodes, .ranks = ranks}, rewritten.data());
            return give(std::move(rewritten));
          },
          "nodes"_a, "ranks"_a, "constants"_a);
}

}  // namespace hocket::bind
