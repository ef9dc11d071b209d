#include "algorithms.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <stdexcept>

namespace hocket::mpi {
namespace {

/// Whitespace between the numbers and names of a file.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : path_(path), file_(path) {}

  int64_t Number() {
    int64_t number = 0;
    if (!(file_ >> number)) Fail();
    return number;
  }

  int SmallNumber() { return static_cast<int>(Number()); }

  std::string Name() {
    std::string name;
    if (!(file_ >> name)) Fail();
    return name;
  }

  Piece Place() {
    const int buffer = SmallNumber();
    return {buffer, Number()};
  }

 private:
  [[noreturn]] void Fail() const { throw std::runtime_error(path_.string() + ": not what hocket launch wrote"); }

  std::filesystem::path path_;
  std::ifstream file_;
};

std::vector<Message> ReadMessages(Reader& reader) {
  std::vector<Message> messages(static_cast<size_t>(reader.Number()));
  for (Message& message : messages) {
    message.peer = reader.SmallNumber();
    message.place = reader.Place();
    message.count = reader.Number();
  }
  return messages;
}

std::vector<LocalStep> ReadLocalSteps(Reader& reader) {
  std::vector<LocalStep> steps(static_cast<size_t>(reader.Number()));
  for (LocalStep& step : steps) {
    step.source = reader.Place();
    const Piece other = reader.Place();
    if (other.buffer >= 0) step.other = other;
    step.target = reader.Place();
    step.count = reader.Number();
  }
  return steps;
}

}  // namespace

int64_t Algorithm::ChunkBytes(int64_t share_bytes, int64_t element_bytes) const {
  const int64_t share_chunks = kind->has_shares ? chunks / ranks : chunks;
  const int64_t elements = share_bytes / element_bytes;
  return (elements + share_chunks - 1) / share_chunks * element_bytes;
}

Algorithms::Algorithms(std::filesystem::path folder) : folder_(std::move(folder)) {
  Reader reader(folder_ / "index");
  algorithms_.resize(static_cast<size_t>(reader.Number()));
  for (Algorithm& algorithm : algorithms_) {
    algorithm.number = reader.SmallNumber();
    algorithm.kind = &FindKind(reader.Name());
    algorithm.ranks = reader.SmallNumber();
    algorithm.root = reader.SmallNumber();
    algorithm.in_place = reader.Number() != 0;
    algorithm.chunks = reader.Number();
    algorithm.min_bytes = reader.Number();
    algorithm.max_bytes = reader.Number();
  }
}

const Algorithm* Algorithms::Find(const Kind& kind, int ranks, int root, int64_t share_bytes,
                                  int64_t element_bytes) const {
  for (const Algorithm& algorithm : algorithms_) {
    if (algorithm.kind != &kind || algorithm.ranks != ranks || (kind.is_rooted && algorithm.root != root)) continue;
    const int64_t bytes = algorithm.ChunkBytes(share_bytes, element_bytes) * algorithm.chunks;
    if (bytes >= algorithm.min_bytes && (algorithm.max_bytes < 0 || bytes <= algorithm.max_bytes)) return &algorithm;
  }
  return nullptr;
}

std::string Algorithms::WhyNone(const Kind& kind, int ranks, int root) const {
  const auto is_for_ranks = [&](const Algorithm& found) { return found.ranks == ranks; };
  const auto is_alike = [&](const Algorithm& found) { return is_for_ranks(found) && found.kind == &kind; };
  const auto is_rooted = [&](const Algorithm& found) {
    return is_alike(found) && (!kind.is_rooted || found.root == root);
  };
  if (std::ranges::any_of(algorithms_, is_rooted)) return "no program for this size";
  const std::string on_ranks = " on " + std::to_string(ranks) + " ranks";
  if (std::ranges::any_of(algorithms_, is_alike)) return "no program for root " + std::to_string(root) + on_ranks;
  if (std::ranges::any_of(algorithms_, is_for_ranks)) return "no program for " + std::string(kind.name) + on_ranks;
  std::set<int> sizes;
  for (const Algorithm& algorithm : algorithms_) sizes.insert(algorithm.ranks);
  std::string only;
  for (const int size : sizes) only += (only.empty() ? "" : " and ") + std::to_string(size);
  return "no program for " + std::to_string(ranks) + " ranks, only for " + only;
}

RankPlan Algorithms::ReadPlan(const Algorithm& algorithm, int rank) const {
  Reader reader(folder_ / (std::to_string(algorithm.number) + "." + std::to_string(rank)));
  RankPlan plan;
  for (int64_t& chunks : plan.chunks) chunks = reader.Number();
  plan.exchanges.resize(static_cast<size_t>(reader.Number()));
  for (Exchange& exchange : plan.exchanges) {
    exchange.sends = ReadMessages(reader);
    exchange.receives = ReadMessages(reader);
    exchange.local_steps = ReadLocalSteps(reader);
  }
  return plan;
}

}  // namespace hocket::mpi
