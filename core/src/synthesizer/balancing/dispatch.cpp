#include "hocket/synthesizer/balancing/dispatch.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace hocket::synthesizer {
namespace {

/// A chunk that waits for its next hop, the urgent ones larger: large ones first, so that small ones fill the gaps.
struct Waiting {
  Picoseconds hold;
  int32_t displacement, chunk;

  bool operator<(const Waiting& other) const {
    if (hold != other.hold) return hold < other.hold;
    if (displacement != other.displacement) return displacement > other.displacement;
    return chunk > other.chunk;
  }
};

/// Greedy, event by event (Graham 1966). Invariant: after `start_candidates` no waiting chunk has all its ports free.
class Dispatcher {
 public:
  Dispatcher(const Alternatives& alternatives, const PairChunks& chunks, std::span<const int32_t> path, bool blocking)
      : alternatives_(alternatives),
        chunks_(chunks),
        blocking_(blocking),
        busy_(alternatives.num_ports),
        left_(alternatives.num_ports),
        ahead_(alternatives.num_ports),
        users_(alternatives.num_ports),
        to_come_(alternatives.hop_links.size()),
        state_(alternatives.hop_links.size()),
        is_candidate_(alternatives.hop_links.size()),
        waiting_(alternatives.hop_links.size()) {
    for (int32_t chunk = 0; chunk < chunks.size(); chunk++) {
      next_.push_back(alternatives.path_hops[path[chunk]]);
      last_wire_.push_back(static_cast<int32_t>(wire_.size() + next_.back().size()));
      add_work(chunk);
    }
    result_.reserve(wire_.size());
  }

  Transfers run() {
    for (int32_t chunk = 0; chunk < chunks_.size(); chunk++) wait(chunk);
    for (Picoseconds now = 0;;) {
      start_candidates(now);
      if (events_.empty()) return std::move(result_);
      now = events_.top().first;
      while (!events_.empty() && events_.top().first == now) {
        const int32_t what = events_.top().second;
        events_.pop();
        what < 0 ? wait(-1 - what) : release(what);
      }
    }
  }

 private:
  /// Of a hop: no chunk takes it any more, none is there yet, some wait. What most looks at a hop ask, in a byte.
  enum class State : uint8_t { kDone, kToCome, kWaiting };
  using Event = std::pair<Picoseconds, int32_t>;  // a hop's ports are released, or chunk -1 - it has come

  /// The serialization of a chunk on its next hop.
  Picoseconds wire(int32_t chunk) const { return wire_[last_wire_[chunk] - next_[chunk].size()]; }

  Picoseconds hold(Picoseconds wire, int32_t hop) const {
    return blocking_ ? std::max<Picoseconds>(1, add_ps(wire, alternatives_.latency[hop])) : wire;
  }

  /// What the chunk's hops add to the ports, before anything starts: all sums that `urgency` looks at are of times, so
  /// that a slow port's work weighs more than a fast one's.
  void add_work(int32_t chunk) {
    bool first = true;
    for (const int32_t hop : next_[chunk]) {
      wire_.push_back(serialization_ps(chunks_.bytes[chunk], alternatives_.slowest[hop]));
      const Picoseconds held = hold(wire_.back(), hop);
      for (const int32_t port : alternatives_.hop_ports[hop]) {
        left_[port] = add_ps(left_[port], held);
        if (!first) ahead_[port] = add_ps(ahead_[port], held);
      }
      if (to_come_[hop]++ == 0) {
        state_[hop] = State::kToCome;
        for (const int32_t port : alternatives_.hop_ports[hop]) users_[port].push_back(hop);
      }
      first = false;
    }
  }

  /// The chunk is at the rank where its next hop starts.
  void wait(int32_t chunk) {
    const int32_t hop = next_[chunk].front(), ranks = alternatives_.num_ranks;
    const int32_t src = chunks_.pair[chunk] / ranks, dst = chunks_.pair[chunk] % ranks;
    waiting_[hop].push({wire(chunk), (dst - src + ranks) % ranks, chunk});
    state_[hop] = State::kWaiting;
    consider(hop);
  }

  /// Hops that share a port with the one that is done may start now. Those that are done with are forgotten on the way,
  /// so that a port with hundreds of users, as a leaf's uplink, costs less and less to look at.
  void release(int32_t hop) {
    for (const int32_t port : alternatives_.hop_ports[hop]) busy_[port] = 0;
    for (const int32_t port : alternatives_.hop_ports[hop]) {
      std::vector<int32_t>& users = users_[port];
      for (size_t at = 0; at < users.size();) {
        const int32_t user = users[at];
        if (state_[user] == State::kDone) {
          users[at] = users.back();
          users.pop_back();
          continue;
        }
        if (state_[user] == State::kWaiting) consider(user);
        at++;
      }
    }
  }

  void consider(int32_t hop) {
    if (is_candidate_[hop] || !free(hop)) return;
    is_candidate_[hop] = 1;
    candidates_.push_back({{}, hop});
  }

  bool free(int32_t hop) const {
    return std::ranges::none_of(alternatives_.hop_ports[hop], [&](int32_t port) { return busy_[port]; });
  }

  /// The most that a port on the way of the hop's first chunk has to do, and the sum over its own ports.
  std::pair<Picoseconds, Picoseconds> urgency(int32_t hop) const {
    Picoseconds most = 0, sum = 0;
    for (const int32_t port : alternatives_.hop_ports[hop]) {
      most = std::max(most, left_[port]);
      sum = add_ps(sum, left_[port]);
    }
    const auto later = next_[waiting_[hop].top().chunk].subspan(1);
    for (const int32_t following : later) {
      for (const int32_t port : alternatives_.hop_ports[following]) most = std::max(most, ahead_[port]);
    }
    return {most, sum};
  }

  struct Candidate {
    std::pair<Picoseconds, Picoseconds> urgency;
    int32_t hop;
  };

  /// The most urgent first; each that starts takes ports from those after it.
  void start_candidates(Picoseconds now) {
    for (Candidate& candidate : candidates_) {
      is_candidate_[candidate.hop] = 0;
      candidate.urgency = urgency(candidate.hop);
    }
    std::ranges::sort(candidates_, [&](const Candidate& a, const Candidate& b) {
      if (a.urgency != b.urgency) return a.urgency > b.urgency;
      const Waiting &of_a = waiting_[a.hop].top(), &of_b = waiting_[b.hop].top();
      return of_b < of_a;
    });
    for (const Candidate& candidate : candidates_) {
      if (free(candidate.hop)) start(candidate.hop, now);
    }
    candidates_.clear();
  }

  /// Its most urgent chunk takes the hop: it holds the ports until the last byte has left, and arrives a latency later.
  void start(int32_t hop, Picoseconds now) {
    const int32_t chunk = waiting_[hop].top().chunk;
    waiting_[hop].pop();
    if (--to_come_[hop] == 0) {
      state_[hop] = State::kDone;
    } else if (waiting_[hop].empty()) {
      state_[hop] = State::kToCome;
    }
    const Picoseconds held = hold(wire(chunk), hop);
    for (const int32_t port : alternatives_.hop_ports[hop]) {
      busy_[port] = 1;
      left_[port] -= held;
    }
    const Picoseconds travel = std::max<Picoseconds>(1, add_ps(wire(chunk), alternatives_.latency[hop]));
    const Picoseconds finish = within_horizon(add_ps(now, travel));
    result_.add(chunk, hop, now, finish);
    next_[chunk] = next_[chunk].subspan(1);
    events_.emplace(now + held, hop);
    if (next_[chunk].empty()) return;
    const int32_t following = next_[chunk].front();
    const Picoseconds fed = hold(wire(chunk), following);
    for (const int32_t port : alternatives_.hop_ports[following]) ahead_[port] -= fed;
    events_.emplace(finish, -1 - chunk);
  }

  const Alternatives& alternatives_;
  PairChunks chunks_;
  bool blocking_;
  std::vector<std::span<const int32_t>> next_;  // of a chunk, the hops before it
  std::vector<Picoseconds> wire_;               // serializations of all chunks' hops, one chunk after the other
  std::vector<int32_t> last_wire_;              // of a chunk, where its hops end there
  std::vector<uint8_t> busy_;                   // of a port
  std::vector<Picoseconds> left_;               // of a port, what it has still to do
  std::vector<Picoseconds> ahead_;              // of a port, the part of it that is not yet on its way there
  std::vector<std::vector<int32_t>> users_;     // of a port, hops over it that chunks have yet to take
  std::vector<int32_t> to_come_;                // of a hop, chunks that have yet to take it
  std::vector<State> state_;                    // of a hop
  std::vector<uint8_t> is_candidate_;
  std::vector<std::priority_queue<Waiting>> waiting_;  // of a hop
  std::vector<Candidate> candidates_;                  // hops that may start now
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Transfers result_;
};

}  // namespace

Transfers dispatch(const Alternatives& alternatives, const PairChunks& chunks, std::span<const int32_t> path,
                   bool blocking) {
  return Dispatcher(alternatives, chunks, path, blocking).run();
}

}  // namespace hocket::synthesizer
