#include "hocket/executor/library.hpp"

#include <algorithm>
#include <set>

#include "hocket/error.hpp"
#include "text.hpp"

namespace hocket::executor {
namespace {

bool is_alike(const Algorithm& algorithm, const Request& request) {
  return algorithm.kind == request.kind && algorithm.ranks == request.ranks &&
         (!request.kind->is_rooted || algorithm.root == request.root);
}

bool is_in_window(const Algorithm& algorithm, const Request& request) {
  const int64_t bytes = request.share_bytes * (request.kind->has_shares ? request.ranks : 1);
  return bytes >= algorithm.min_bytes && (algorithm.max_bytes == 0 || bytes <= algorithm.max_bytes);
}

std::string joined(const std::set<std::string>& parts, const char* between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

/// Exactly: in the largest unit that it is a whole number of.
std::string size_text(int64_t bytes) {
  constexpr std::array kUnits{" B", " KiB", " MiB", " GiB", " TiB"};
  size_t unit = 0;
  for (; bytes != 0 && bytes % 1024 == 0 && unit + 1 < kUnits.size(); unit++) bytes /= 1024;
  return std::to_string(bytes) + kUnits[unit];
}

std::string window(const Algorithm& algorithm) {
  if (algorithm.max_bytes < 0) return "no size";
  return size_text(algorithm.min_bytes) + " to " +
         (algorithm.max_bytes == 0 ? "any size" : size_text(algorithm.max_bytes));
}

}  // namespace

void refuse_kind(std::string_view name) { throw FormatError("'" + std::string(name) + "' is no collective"); }

int64_t Algorithm::chunk_bytes(int64_t share_bytes, int64_t element_bytes) const {
  const int64_t share_chunks = kind->has_shares ? chunks / ranks : chunks;
  const int64_t elements = share_bytes / element_bytes;
  return (elements + share_chunks - 1) / share_chunks * element_bytes;
}

Library Library::read(std::istream& text, const std::string& source) {
  TextReader reader(text, source);
  const int64_t count = reader.number();
  std::vector<Algorithm> algorithms;
  for (int64_t k = 0; k < count; k++) {
    Algorithm& algorithm = algorithms.emplace_back();
    algorithm.kind = &find_kind(reader.name());
    algorithm.ranks = reader.small_number();
    algorithm.root = reader.small_number();
    algorithm.in_place = reader.number() != 0;
    algorithm.out_of_place = reader.number() != 0;
    algorithm.chunks = reader.number();
    algorithm.min_bytes = reader.number();
    algorithm.max_bytes = reader.number();
    const int64_t least = algorithm.kind->has_shares ? algorithm.ranks : 1;
    if (algorithm.ranks < 1 || algorithm.chunks < least) reader.fail("a program of no ranks or too few chunks");
  }
  reader.end();
  return Library(std::move(algorithms));
}

std::optional<Choice> Library::find(const Request& request) const {
  // The other way runs on a copy: better than none, and worse than any of the call's own way. Sizes that the programs
  // of its own way leave out are left to the stock library on purpose.
  for (const bool in_place : {request.in_place, !request.in_place}) {
    bool has_any = false;
    for (int32_t number = 0; number < size(); number++) {
      const Algorithm& algorithm = (*this)[number];
      const bool is_right = in_place ? algorithm.in_place : algorithm.out_of_place;
      if (!is_right || !is_alike(algorithm, request)) continue;
      has_any = true;
      if (is_in_window(algorithm, request)) return Choice{number, in_place};
    }
    if (has_any) break;
  }
  return std::nullopt;
}

// From the narrowest reason to the widest: a user who has programs for this collective wants to hear of sizes, not of
// ranks.
std::string Library::why_none(const Request& request) const {
  std::set<std::string> windows;
  std::set<int32_t> sizes;
  bool is_of_kind = false;
  for (const Algorithm& algorithm : algorithms_) {
    sizes.insert(algorithm.ranks);
    is_of_kind |= algorithm.ranks == request.ranks && algorithm.kind == request.kind;
    if (is_alike(algorithm, request)) windows.insert(window(algorithm));
  }
  if (!windows.empty()) return "no program for this size, only for " + joined(windows, ", ");
  const std::string on_ranks = " on " + std::to_string(request.ranks) + " ranks";
  if (is_of_kind) return "no program for root " + std::to_string(request.root) + on_ranks;
  if (sizes.contains(request.ranks)) return "no program for " + std::string(request.kind->name) + on_ranks;
  std::string only;
  for (const int32_t ranks : sizes) only += (only.empty() ? "" : " and ") + std::to_string(ranks);
  return "no program for " + std::to_string(request.ranks) + " ranks, only for " + only;
}

}  // namespace hocket::executor
