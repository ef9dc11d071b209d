#include "hocket/nccl/tuner/table.hpp"

#include <algorithm>
#include <bitset>

#include "fields.hpp"
#include "hocket/error.hpp"

namespace hocket::nccl {

constexpr std::array<std::string_view, kFunctions> kFunctionNames{"broadcast", "reduce", "allgather", "reducescatter",
                                                                  "allreduce"};
constexpr std::array<std::string_view, kAlgorithms> kAlgorithmNames{
    "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
constexpr std::array<std::string_view, kProtocols> kProtocolNames{"ll", "ll128", "simple"};

namespace {

/// In the order in which the columns of a table without a header stand.
enum Column {
  kCollective,
  kMinBytes,
  kMaxBytes,
  kAlgorithmColumn,
  kProtocolColumn,
  kChannels,
  kNodes,
  kRanks,
  kPipeOperations,
  kRegistered,
  kMinBytesPerRank,
  kMaxBytesPerRank,
  kDomains,
  kLeastDomainRanks,
  kMostDomainRanks,
  kChunkBytes,
  kColumns
};
constexpr std::array<std::string_view, kColumns> kColumnNames{"collective_type",
                                                              "min_bytes",
                                                              "max_bytes",
                                                              "algorithm",
                                                              "protocol",
                                                              "channels",
                                                              "nNodes",
                                                              "nRanks",
                                                              "numPipeOps",
                                                              "regBuff",
                                                              "min_bytes_per_rank",
                                                              "max_bytes_per_rank",
                                                              "nNvlDomains",
                                                              "minRanksPerNvlDomain",
                                                              "maxRanksPerNvlDomain",
                                                              "chunk_bytes"};
// NVIDIA's example plugin reads eight to ten columns without a header; columns of ours need one.
constexpr size_t kLeastColumns = kRanks + 1;  // Of a table without a header.
constexpr size_t kMostColumns = kRegistered + 1;

constexpr uint64_t kAllSizes = 4294967295;  // NVIDIA's example writes so that a rule has no upper limit.
/// NCCL rounds a chunk down to its protocol's grain, at most 1920 bytes: less than one grain would be nothing.
constexpr uint64_t kLeastChunk = 2048;

// ncclTunerConstants' members, in order.
enum ConstantKind { kBaseLatencies, kHardwareLatencies, kFirstBandwidth, kConstantKinds = kFirstBandwidth + 5 };
constexpr std::array<std::string_view, kConstantKinds> kConstantNames{
    "baseLatencies",        "hwLatencies",     "llMaxBws",           "perChMaxRingLL128Bws",
    "perChMaxTreeLL128Bws", "perChMaxTreeBws", "perChMaxNVLSTreeBws"};
constexpr std::array<std::string_view, 3> kLinkNames{"nvlink", "pci", "net"};
constexpr std::array<std::string_view, 4> kArchitectureNames{"volta", "ampere", "hopper", "blackwell"};
constexpr std::array<std::string_view, 3> kScaleNames{"1node", "2nodes", "4nodes"};
constexpr int32_t kPairs = int32_t{kAlgorithms} * kProtocols;
constexpr int32_t kBandwidths = static_cast<int32_t>(kArchitectureNames.size() * kScaleNames.size());
static_assert(kPairs + static_cast<int32_t>(kLinkNames.size()) * kPairs + 5 * kBandwidths == kTunerConstants);

/// Which column stands in each field; kColumns: none.
using Layout = std::vector<Column>;
using Fields = std::vector<std::string_view>;

Layout layout_without_header() {
  Layout layout;
  for (size_t column = 0; column < kMostColumns; ++column) layout.push_back(static_cast<Column>(column));
  return layout;
}

// With a header columns may stand in any order, and be left out.
Layout layout_of(const Fields& header) {
  Layout layout;
  for (const std::string_view name : header) {
    const auto column = static_cast<Column>(parse_name(name, "column", kColumnNames));
    if (std::find(layout.begin(), layout.end(), column) != layout.end()) {
      throw FormatError("column '" + std::string(name) + "' stands twice in the header");
    }
    layout.push_back(column);
  }
  return layout;
}

bool is_header(const Fields& fields) {
  return std::any_of(fields.begin(), fields.end(), [](std::string_view field) { return field == "collective_type"; });
}

SizeRange parse_sizes(std::string_view least, std::string_view most, Column first) {
  SizeRange range;
  range.least = parse_size(least, kColumnNames[first], 0);
  range.most = parse_size(most, kColumnNames[first + 1], SizeRange::kNoLimit);
  if (range.most == kAllSizes) range.most = SizeRange::kNoLimit;
  if (range.most < range.least) {
    throw FormatError(std::string(kColumnNames[first]) + " is more than " + std::string(kColumnNames[first + 1]) +
                      ": no size matches");
  }
  return range;
}

TunerRule rule_of(const Fields& fields, const Layout& layout, bool header) {
  const size_t least = header ? 1 : kLeastColumns;
  // What a spreadsheet leaves behind the last column.
  const bool beyond = std::any_of(fields.begin() + static_cast<std::ptrdiff_t>(std::min(fields.size(), layout.size())),
                                  fields.end(), [](std::string_view field) { return !field.empty(); });
  if (fields.size() < least || beyond) {
    throw FormatError(std::to_string(fields.size()) + " fields: expected " +
                      (header ? "at most " + std::to_string(layout.size()) + ", as the header has"
                              : std::to_string(kLeastColumns) + " to " + std::to_string(kMostColumns) +
                                    ", collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks"
                                    "[,numPipeOps[,regBuff]]"));
  }
  std::array<std::string_view, kColumns> field{};
  for (size_t at = 0; at < std::min(fields.size(), layout.size()); ++at) field[layout[at]] = fields[at];

  TunerRule rule;
  rule.function = static_cast<Function>(parse_name(field[kCollective], "collective", kFunctionNames));
  rule.bytes = parse_sizes(field[kMinBytes], field[kMaxBytes], kMinBytes);
  rule.bytes_per_rank = parse_sizes(field[kMinBytesPerRank], field[kMaxBytesPerRank], kMinBytesPerRank);
  rule.algorithm = parse_name_or_any(field[kAlgorithmColumn], "algorithm", kAlgorithmNames);
  rule.protocol = parse_name_or_any(field[kProtocolColumn], "protocol", kProtocolNames);
  rule.channels = parse_channels(field[kChannels], kMostChannels);
  const auto range = [&](Column column) { return parse_range(field[column], kColumnNames[column]); };
  rule.nodes = range(kNodes);
  rule.ranks = range(kRanks);
  rule.pipe_operations = range(kPipeOperations);
  rule.registered = range(kRegistered);
  if (!rule.registered.any() && rule.registered.most > 1) throw FormatError("regBuff: expected 0, 1 or -1");
  rule.domains = range(kDomains);
  rule.least_domain_ranks = range(kLeastDomainRanks);
  rule.most_domain_ranks = range(kMostDomainRanks);
  const uint64_t chunk = parse_size(field[kChunkBytes], kColumnNames[kChunkBytes], 0);
  if (chunk != 0 && (chunk < kLeastChunk || chunk > std::numeric_limits<int32_t>::max())) {
    throw FormatError("chunk_bytes: expected 2KiB to 2147483647, or -1 for NCCL's own");
  }
  rule.chunk_bytes = static_cast<int32_t>(chunk);
  if (chunk != 0 && !(rule.pipe_operations.any() && rule.registered.any())) {
    throw FormatError("chunk_bytes together with numPipeOps or regBuff: NCCL asks for chunks without telling these");
  }
  return rule;
}

/// `constant,NAME,KEYS...,VALUE[,nNodes[,nRanks]]`
TunerConstant constant_of(const Fields& fields) {
  const int32_t kind = parse_name(fields.size() > 1 ? fields[1] : "", "constant", kConstantNames);
  const size_t keys = kind == kHardwareLatencies ? 3 : 2;
  if (fields.size() < keys + 3 || fields.size() > keys + 5) {
    const std::string expected = kind == kBaseLatencies       ? "ALGORITHM,PROTOCOL"
                                 : kind == kHardwareLatencies ? "LINK,ALGORITHM,PROTOCOL"
                                                              : "ARCHITECTURE,SCALE";
    throw FormatError("expected constant," + std::string(kConstantNames[static_cast<size_t>(kind)]) + "," + expected +
                      ",VALUE[,nNodes[,nRanks]]");
  }
  const auto pair = [&](size_t at) {
    return parse_name(fields[at], "algorithm", kAlgorithmNames) * kProtocols +
           parse_name(fields[at + 1], "protocol", kProtocolNames);
  };
  TunerConstant constant;
  if (kind == kBaseLatencies) {
    constant.index = pair(2);
  } else if (kind == kHardwareLatencies) {
    constant.index = (1 + parse_name(fields[2], "link", kLinkNames)) * kPairs + pair(3);
  } else {
    constant.index =
        (1 + static_cast<int32_t>(kLinkNames.size())) * kPairs + (kind - kFirstBandwidth) * kBandwidths +
        parse_name(fields[2], "architecture", kArchitectureNames) * static_cast<int32_t>(kScaleNames.size()) +
        parse_name(fields[3], "scale", kScaleNames);
  }
  constant.value = parse_constant(fields[keys + 2]);
  if (fields.size() > keys + 3) constant.nodes = parse_range(fields[keys + 3], "nNodes");
  if (fields.size() > keys + 4) constant.ranks = parse_range(fields[keys + 4], "nRanks");
  return constant;
}

}  // namespace

bool TunerRule::applies(const TunerShape& shape) const {
  return nodes.holds(shape.nodes) && ranks.holds(shape.ranks) && domains.holds(shape.domains) &&
         least_domain_ranks.holds(shape.least_domain_ranks) && most_domain_ranks.holds(shape.most_domain_ranks);
}

// No line stops the parse: all problems are listed, and the plugin then takes none of the rules.
TunerTable parse_tuner_table(std::string_view text) {
  TunerTable table;
  Layout layout = layout_without_header();
  bool header = false;
  // Spreadsheets write a byte order mark.
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  int32_t line = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view row = without_blanks(text.substr(at, end - at));
    at = end + 1;
    ++line;
    if (row.empty() || row.front() == '#') continue;
    try {
      const Fields fields = split_row(row);
      if (fields[0] == "constant") {
        table.constants.push_back(constant_of(fields));
        table.constants.back().line = line;
      } else if (is_header(fields)) {
        if (header || !table.rules.empty()) throw FormatError("a header must stand above the rules, once");
        header = true;
        layout = layout_of(fields);
      } else {
        table.rules.push_back(rule_of(fields, layout, header));
        table.rules.back().line = line;
      }
    } catch (const FormatError& error) {
      table.problems.push_back({line, error.what()});
    }
  }
  return table;
}

int32_t rewrite_constants(const TunerTable& table, const TunerShape& shape, double* constants) {
  std::bitset<kTunerConstants> written;
  for (const TunerConstant& constant : table.constants) {
    const auto at = static_cast<size_t>(constant.index);
    // The first constant that applies counts, as the first rule does.
    if (written[at] || !constant.nodes.holds(shape.nodes) || !constant.ranks.holds(shape.ranks)) continue;
    constants[at] = constant.value;
    written[at] = true;
  }
  return static_cast<int32_t>(written.count());
}

}  // namespace hocket::nccl
