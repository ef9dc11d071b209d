#include "totals.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <tuple>

#include "abi.hpp"
#include "settings.hpp"

namespace hocket::nccl {
namespace {

/// Bytes of an element of the datatype NCCL names; 0 for a name that is not known.
uint64_t element_bytes(std::string_view datatype) {
  const size_t digits = datatype.find_first_of("0123456789");
  const std::string_view size = digits == datatype.npos ? "" : datatype.substr(digits);
  if (size == "8" || size == "8e4m3" || size == "8e5m2") return 1;
  if (size == "16") return 2;
  if (size == "32") return 4;
  return size == "64" ? 8 : 0;
}

/// Does every rank give or take a part of its own, so that the whole is `ranks` times a rank's count?
// As nccl-tests prints sizes: of these the whole buffer, of all others what each rank has.
bool counts_parts(std::string_view function) {
  for (const std::string_view name : {"AllGather", "ReduceScatter", "AlltoAll", "Gather", "Scatter"}) {
    if (function == name) return true;
  }
  return false;
}

uint64_t hash_of(const Communicator& communicator, const Call& call) {
  uint64_t words[sizeof call / 8];
  std::memcpy(words, &call, sizeof call);
  uint64_t hash = communicator.number;
  for (const uint64_t word : words) hash = (hash ^ word) * 0x9e3779b97f4a7c15 ^ hash >> 29;
  return hash ^ hash >> 32;
}

}  // namespace

uint64_t Total::bytes() const {
  const uint64_t parts = counts_parts(call.function) ? static_cast<uint64_t>(communicator->ranks) : 1;
  return call.count * element_bytes(call.datatype) * parts;
}

double Total::bus_factor() const {
  const double ranks = communicator->ranks;
  if (std::string_view(call.function) == "AllReduce") return 2 * (ranks - 1) / ranks;
  return counts_parts(call.function) ? (ranks - 1) / ranks : 1;
}

// Open addressing, and cells are never given back: a found one stays valid without a lock. A cell that is being filled
// is waited for, as that takes a few stores.
Total* Totals::find(const Communicator& communicator, const Call& call) {
  for (uint64_t hash = hash_of(communicator, call);; ++hash) {
    Total& total = totals_[hash % kCells];
    int state = total.state.load(std::memory_order_acquire);
    if (state == 0) {
      if (used_.load(std::memory_order_relaxed) >= kMost) return nullptr;
      if (total.state.compare_exchange_strong(state, 1, std::memory_order_acquire)) {
        used_.fetch_add(1, std::memory_order_relaxed);
        total.communicator = &communicator;
        total.call = call;
        total.state.store(2, std::memory_order_release);
        return &total;
      }
    }
    while (state == 1) state = total.state.load(std::memory_order_acquire);
    if (total.communicator == &communicator && std::memcmp(&total.call, &call, sizeof call) == 0) return &total;
  }
}

// Without allocation but for the sort: it may be the last thing that a failing process does.
void Totals::write_table(std::FILE* file) const {
  const Total* order[kCells];
  const Total** end = order;
  for (size_t at = 0; at < kCells; ++at) {
    if (totals_[at].state.load(std::memory_order_acquire) == 2) *end++ = &totals_[at];
  }
  const auto key = [](const Total* total) {
    return std::tuple(std::string_view(total->call.function), total->bytes(), total->communicator->number, total);
  };
  std::sort(order, end, [&](const Total* a, const Total* b) { return key(a) < key(b); });
  constexpr char kHeads[] = "#%11s %12s %-14s %-14s %-14s %-7s %5s %6s %9s %9s %9s %9s %9s\n";
  std::fprintf(file, kHeads, "size", "count", "type", "function", "algo", "proto", "chan", "ranks", "calls", "timed",
               "time", "algbw", "busbw");
  std::fprintf(file, kHeads, "(B)", "(elements)", "", "", "", "", "", "", "", "", "(us)", "(GB/s)", "(GB/s)");
  for (const Total** at = order; at != end; ++at) {
    const Total& total = **at;
    const Call& call = total.call;
    std::fprintf(file, "%12lu %12lu %-14s %-14s %-14s %-7s %5u %6d %9lu %9lu", total.bytes(), call.count, call.datatype,
                 call.function, call.algorithm, call.protocol, call.channels, total.communicator->ranks,
                 total.calls.load(), total.timed.load());
    if (total.timed_ns > 0) {
      const double ns = static_cast<double>(total.timed_ns) / static_cast<double>(total.timed);
      const double bandwidth = static_cast<double>(total.bytes()) / ns;
      std::fprintf(file, " %9.2f %9.2f %9.2f\n", ns / 1e3, bandwidth, bandwidth * total.bus_factor());
    } else {
      std::fprintf(file, " %9s %9s %9s\n", "-", "-", "-");
    }
  }
  if (uncounted_ > 0) std::fprintf(file, "# %lu calls of more kinds are not in this table\n", uncounted_.load());
}

void Totals::write_metrics(std::FILE* file, const FileHeader& header) const {
  const struct {
    const char* name;
    const char* help;
    double (*value)(const Total&);
  } metrics[] = {
      {"calls", "Calls enqueued.", [](const Total& total) { return static_cast<double>(total.calls); }},
      {"timed_calls", "Calls whose end is known.", [](const Total& total) { return static_cast<double>(total.timed); }},
      {"timed_seconds", "Time of the calls whose end is known.",
       [](const Total& total) { return static_cast<double>(total.timed_ns) / 1e9; }},
  };
  for (const auto& [name, help, value] : metrics) {
    std::fprintf(file, "# HELP hocket_nccl_%s_total %s\n# TYPE hocket_nccl_%s_total counter\n", name, help, name);
    for (size_t at = 0; at < kCells; ++at) {
      const Total& total = totals_[at];
      if (total.state.load(std::memory_order_acquire) != 2) continue;
      std::fprintf(file,
                   "hocket_nccl_%s_total{host=\"%s\",pid=\"%u\",communicator=\"0x%016lx\",rank=\"%d\",function=\"%s\","
                   "datatype=\"%s\",algorithm=\"%s\",protocol=\"%s\",channels=\"%u\",bytes=\"%lu\"} %.15g\n",
                   name, header.host, header.process, total.communicator->id, total.communicator->rank,
                   total.call.function, total.call.datatype, total.call.algorithm, total.call.protocol,
                   total.call.channels, total.bytes(), value(total));
    }
  }
  std::fprintf(file,
               "# HELP hocket_nccl_dropped_total Events that got no record.\n"
               "# TYPE hocket_nccl_dropped_total counter\n");
  for (int bit = 0; bit < kEventTypes; ++bit) {
    if (((header.events >> bit) & 1) == 0) continue;
    std::fprintf(file, "hocket_nccl_dropped_total{host=\"%s\",pid=\"%u\",event=\"%s\"} %lu\n", header.host,
                 header.process, event_name(bit), __atomic_load_n(&header.dropped[bit], __ATOMIC_RELAXED));
  }
  std::fprintf(file,
               "# HELP hocket_nccl_uncounted_total Calls of too many kinds to be counted.\n"
               "# TYPE hocket_nccl_uncounted_total counter\n"
               "hocket_nccl_uncounted_total{host=\"%s\",pid=\"%u\"} %lu\n",
               header.host, header.process, uncounted_.load());
}

}  // namespace hocket::nccl
