#include "hocket/simulator/traffic.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "dense_event_queue.hpp"
#include "hocket/error.hpp"
#include "hocket/huge_pages.hpp"
#include "hocket/splitmix.hpp"
#include "link_loads.hpp"
#include "network/packet/network.hpp"

namespace hocket::simulator {
namespace {

/// Numbers that look like chance, the same on every machine: integers alone.
class Chance {
 public:
  explicit Chance(uint64_t seed) : state_(splitmix64(seed)) {}

  uint64_t next() { return splitmix64(state_ += kSplitMixStep); }
  /// A number below `bound`, all alike.
  int64_t below(int64_t bound) {
    return static_cast<int64_t>(static_cast<unsigned __int128>(next()) * static_cast<uint64_t>(bound) >> 64);
  }
  /// A time that is exponentially distributed around `mean` (von Neumann 1951: runs of falling numbers, no logarithm).
  Picoseconds around(Picoseconds mean) {
    for (Picoseconds whole = 0;; whole = add_ps(whole, mean)) {
      const uint64_t first = next();
      bool odd = false;  // whether the number has fallen an odd number of times in a row
      for (uint64_t last = first, drawn = next(); drawn < last; drawn = next()) {
        last = drawn;
        odd = !odd;
      }
      if (odd) continue;
      return add_ps(
          whole, static_cast<Picoseconds>(static_cast<unsigned __int128>(first) * static_cast<uint64_t>(mean) >> 64));
    }
  }

 private:
  uint64_t state_;
};

/// A rank that sends.
struct alignas(64) Origin {
  Chance chance;
  // Of its next message, drawn when the one before it leaves, so that its path can be fetched before it is needed.
  Picoseconds ready_at = 0;  // in an open loop
  Picoseconds after_at = 0;  // when the one after it is ready
  int64_t pair = -1;         // -1: nobody is there
  int64_t path = -1;         // -1: what is chosen when it leaves
  /// Pairs that it chooses from.
  struct Choices {
    int64_t first, count;
  };
  Choices near{}, far{};
  Picoseconds gap_ps = 0;  // on average
  int64_t arrived = 0;     // messages, within the time that is counted
  // In a closed loop: the first time since when it may send another one, in the circle of its slots, and how many.
  uint32_t first_slot = 0, num_slots = 0;
  bool sending = false;  // whether a message is not wholly out of it
  bool waiting = false;  // whether an event comes when its next message is ready
};

/// A message under way, as the network sees it, too: `hop..end` are the links still to take.
struct alignas(64) Message {
  const int32_t* hop;
  const int32_t* end;
  int64_t bytes;
  const int32_t* begin;
  Picoseconds ready_at;
  int32_t rank;
  bool far;
  bool left;
  std::array<Picoseconds, kStages - 1> at;  // of a far one: when each stage but the last ended, -1: it has not

  const int32_t* first_outer = nullptr;  // of its links between nodes
  const int32_t* last_outer = nullptr;

  std::span<const int32_t> links() const { return {begin, end}; }
  /// Whether the hop is on the way between the nodes at its ends, be it inside a third one.
  bool between(const int32_t* hop) const { return first_outer <= hop && hop <= last_outer; }
};

/// Ranks that send by chance over one network of packets. An instant has two halves, as in the replay of jobs: its
/// events first, then what ranks may send because of them, rank by rank.
class TrafficRun {
 public:
  TrafficRun(const topology::Graph& graph, const LinkSettings& links, const PacketSettings& packets,
             const TrafficSettings& traffic)
      : graph_(graph), traffic_(traffic), network_(graph, links, packets, traffic.bins), loads_(graph) {
    for (uint64_t rank = 0; std::cmp_less(rank, graph.num_ranks()); rank++) {
      const auto choices = [&](const std::vector<int64_t>& offset) {
        return Origin::Choices{offset[rank], offset[rank + 1] - offset[rank]};
      };
      origins_.push_back({.chance = Chance(traffic.seed ^ splitmix64(rank)),
                          .near = choices(traffic.near),
                          .far = choices(traffic.far),
                          .gap_ps = traffic.window > 0 ? 0 : traffic.gap_ps[rank]});
    }
    slots_.assign(origins_.size() * static_cast<size_t>(traffic.window), 0);
    outcome_.bins = LinkBins(graph.links().size(), traffic.bins);
  }

  TrafficOutcome run() {
    for (size_t rank = 0; rank < origins_.size(); rank++) begin(static_cast<int32_t>(rank));
    settle(0);
    Picoseconds end = traffic_.until_ps;
    while (!queue_.empty()) {
      const Event event = queue_.pop([this](Ahead when, std::span<const Event> next) { fetch(when, next); });
      if (event.time >= traffic_.until_ps && !traffic_.drains) break;
      end = std::max(end, event.time);
      outcome_.events++;
      if (event.kind == kReadyEvent) {
        origins_[event.id].waiting = false;
        freed_.push_back(static_cast<int32_t>(event.id));
      } else {
        network_.handle(*this, static_cast<NetworkEvent>(event.kind), event.id, event.time);
      }
      if (!queue_.more_now()) settle(event.time);
    }
    for (const Origin& origin : origins_) outcome_.arrived_from.push_back(origin.arrived);
    outcome_.links = network_.link_uses();
    outcome_.packets = network_.use(end);
    return std::move(outcome_);
  }

  // What the network sees of the engine.
  Message& flight(uint32_t id) { return messages_[id]; }
  void schedule(Picoseconds time, NetworkEvent what, uint32_t id) {
    queue_.push({within_horizon(time), static_cast<uint32_t>(what), id});
  }
  Picoseconds ready_at(uint32_t id) const { return messages_[id].ready_at; }
  /// All messages of a rank follow one another on the link that they take.
  Connection connection(uint32_t id) const {
    return {-1 - messages_[id].rank, 0, static_cast<uint64_t>(*messages_[id].hop)};
  }
  void occupied(int32_t link, Picoseconds start, Picoseconds finish, Picoseconds busy, uint32_t) {
    outcome_.bins.add(link, start, within_horizon(finish), busy);
  }
  void has_left(uint32_t id) {
    Message& message = messages_[id];
    if (std::exchange(message.left, true)) return;
    origins_[message.rank].sending = false;
    freed_.push_back(message.rank);
  }
  /// Notes when the first packet passes from stage to stage. What is lost is sent again: the first time counts.
  void moves(uint32_t id, const int32_t* hop, bool first, bool last, Picoseconds now, Picoseconds head,
             Picoseconds tail) {
    // Most hops are between others alike, and a look at the message is what they would cost.
    if (!first && !last && outer(hop[-1]) == outer(*hop) && outer(*hop) == outer(hop[1])) return;
    Message& message = messages_[id];
    if (!message.far) return;
    // A rank in between passes the message on and is none of its ends.
    first = hop == message.begin;
    last = hop + 1 == message.end;
    const bool between = message.between(hop), after = message.between(hop + 1);
    const auto ends = [&](Stage stage, Picoseconds time) {
      Picoseconds& at = message.at[static_cast<size_t>(stage)];
      if (at < 0) at = time;
    };
    ends(Stage::kSource, now);
    if (between) {
      ends(Stage::kSourceNetwork, now);  // where the rank itself is behind no NIC
      ends(Stage::kSourceNic, now);
      if (last || !after) ends(Stage::kBetween, tail);
    } else if (!last && after) {
      ends(Stage::kSourceNetwork, head);
    } else if (message.at[static_cast<size_t>(Stage::kBetween)] >= 0) {
      Picoseconds& there = message.at[static_cast<size_t>(Stage::kBetween)];
      if (message.at[static_cast<size_t>(Stage::kDestinationNic)] < 0) there = std::min(there, now);
      ends(Stage::kDestinationNic, now);
    }
    if (last) ends(Stage::kDestinationNetwork, head);
  }
  void deliver(uint32_t id, Picoseconds now) {
    Message& message = messages_[id];
    outcome_.arrived++;
    if (traffic_.adaptive) loads_.remove(message.links(), traffic_.message_bytes);
    if (now >= traffic_.from_ps && now < traffic_.until_ps) count(message, now);
    if (traffic_.window > 0) {
      Origin& origin = origins_[message.rank];
      slot(message.rank, origin.first_slot + origin.num_slots++) = now;
      freed_.push_back(message.rank);
    }
    free_.push_back(id);
  }

 private:
  static constexpr uint32_t kReadyEvent = ~uint32_t{0};  // a rank's next message is ready; others: NetworkEvent

  bool outer(int32_t link) const { return traffic_.outer[static_cast<size_t>(link)] != 0; }

  /// A closed loop's time of the rank: the `number`-th place of its circle.
  Picoseconds& slot(int32_t rank, uint32_t number) {
    const auto window = static_cast<uint32_t>(traffic_.window);
    return slots_[static_cast<size_t>(rank) * window + (number < window ? number : number - window)];
  }

  /// The first message of a rank, or the first ones.
  void begin(int32_t rank) {
    Origin& origin = origins_[rank];
    if (traffic_.window > 0) {
      origin.num_slots = static_cast<uint32_t>(traffic_.window);
      draw(rank);
    } else if (origin.gap_ps > 0) {
      origin.ready_at = origin.chance.around(origin.gap_ps);
      draw(rank);
    } else {
      origin.ready_at = traffic_.until_ps;
    }
    freed_.push_back(rank);
  }

  /// What is left to chance of the rank's next message, and when the one after it is ready.
  void draw(int32_t rank) {
    Origin& origin = origins_[rank];
    if (traffic_.window == 0) {
      if (origin.ready_at >= traffic_.until_ps) return;
      origin.after_at = add_ps(origin.ready_at, origin.chance.around(origin.gap_ps));
    }
    const bool far = origin.chance.below(kMillion) < traffic_.far_ppm;
    const Origin::Choices choices = far ? origin.far : origin.near;
    origin.pair = choices.count > 0 ? choices.first + origin.chance.below(choices.count) : -1;
    origin.path = choices.count > 0 && !traffic_.adaptive ? path_of(origin.pair, origin.chance) : -1;
    fetch_message(Ahead::kNext, origin);
  }

  /// Asks for the memory of what events are about that come soon: first what they name, then what that names, and so
  /// on. All of a step come together, where one after the other each would be waited for.
  void fetch(Ahead when, std::span<const Event> next) const {
    for (const Event& event : next) {
      if (event.kind == kReadyEvent) {
        fetch_message(when, origins_[event.id]);
      } else {
        const uint32_t id = network_.fetch(when, static_cast<NetworkEvent>(event.kind), event.id);
        if (id != kNone) __builtin_prefetch(&messages_[id], 1);
      }
    }
  }

  /// The same of the rank's next message.
  void fetch_message(Ahead when, const Origin& origin) const {
    const topology::Paths& paths = traffic_.paths;
    if (when == Ahead::kSoon) {
      __builtin_prefetch(&origin, 1);
      __builtin_prefetch(&origin.arrived, 1);
      return;
    }
    if (origin.path < 0) return;
    if (when == Ahead::kNext) {
      __builtin_prefetch(&traffic_.is_far[origin.pair]);
      __builtin_prefetch(&paths.link_offset[origin.path]);
    } else {
      __builtin_prefetch(&paths.links[paths.link_offset[origin.path]]);
    }
  }

  /// Ends an instant: ranks that may send do.
  void settle(Picoseconds now) {
    // By index: what is sent may leave at once, and set its rank free again.
    for (size_t at = 0; at < freed_.size(); at++) go_on(freed_[at], now);
    freed_.clear();
  }

  /// The rank sends its next message if it is ready, else when it is.
  void go_on(int32_t rank, Picoseconds now) {
    Origin& origin = origins_[rank];
    while (!origin.sending) {
      Picoseconds ready_at = origin.ready_at;
      if (traffic_.window > 0) {
        if (origin.num_slots == 0 || now >= traffic_.until_ps) return;
        ready_at = slot(rank, origin.first_slot);
        origin.first_slot = origin.first_slot + 1 == static_cast<uint32_t>(traffic_.window) ? 0 : origin.first_slot + 1;
        origin.num_slots--;
      } else {
        if (ready_at >= traffic_.until_ps) return;
        if (ready_at > now) {
          // Whoever sends at once comes here twice in an instant: for itself, and as one that has been set free.
          if (!std::exchange(origin.waiting, true)) queue_.push({ready_at, kReadyEvent, static_cast<uint32_t>(rank)});
          return;
        }
      }
      const int64_t pair = origin.pair;
      const int64_t path = origin.path >= 0 || pair < 0 ? origin.path : loads_.least_loaded(traffic_.paths, pair);
      origin.ready_at = origin.after_at;
      draw(rank);
      if (pair >= 0) send(rank, pair, path, ready_at, now);
    }
  }

  void send(int32_t rank, int64_t pair, int64_t path, Picoseconds ready_at, Picoseconds now) {
    const std::span<const int32_t> links = traffic_.paths.path(path);
    uint32_t id = static_cast<uint32_t>(messages_.size());
    if (free_.empty()) {
      make_room(messages_);
      messages_.emplace_back();
    } else {
      id = free_.back();
      free_.pop_back();
    }
    const int32_t *begin = links.data(), *end = begin + links.size();
    messages_[id] = {begin, end, traffic_.message_bytes, begin, ready_at, rank, traffic_.is_far[pair] != 0, false, {}};
    messages_[id].at.fill(-1);
    if (messages_[id].far) set_outer(messages_[id]);
    origins_[rank].sending = true;
    outcome_.made++;
    if (traffic_.adaptive) loads_.add(links, traffic_.message_bytes);
    network_.inject(*this, id, now);
  }

  void set_outer(Message& message) const {
    for (const int32_t* hop = message.begin; hop != message.end; hop++) {
      if (!outer(*hop)) continue;
      if (message.first_outer == nullptr) message.first_outer = hop;
      message.last_outer = hop;
    }
  }

  int64_t path_of(int64_t pair, Chance& chance) const {
    const topology::Paths& paths = traffic_.paths;
    if (paths.end(pair) - paths.first(pair) == 1) return paths.first(pair);
    int64_t path = paths.first(pair);
    for (int64_t left = chance.below(topology::kWholeShare); (left -= paths.share[path]) >= 0;) path++;
    return path;
  }

  void count(const Message& message, Picoseconds now) {
    origins_[message.rank].arrived++;
    (message.far ? outcome_.far_arrived : outcome_.near_arrived)++;
    (message.far ? outcome_.far : outcome_.near).add(now - message.ready_at);
    if (!message.far) return;
    Picoseconds before = message.ready_at;
    for (size_t stage = 0; stage < kStages; stage++) {
      // A stage that the path has not takes no time.
      const Picoseconds end = stage + 1 == kStages ? now : std::max(before, message.at[stage]);
      outcome_.parts[stage].add(end - before);
      before = end;
    }
  }

  static constexpr int64_t kMillion = 1'000'000;

  const topology::Graph& graph_;
  const TrafficSettings& traffic_;
  PacketNetwork network_;
  LinkLoads loads_;
  DenseEventQueue queue_;
  std::vector<Origin> origins_;
  std::vector<Picoseconds> slots_;  // of each rank, in a closed loop
  std::vector<Message> messages_;
  std::vector<uint32_t> free_;  // numbers of messages that are there
  std::vector<int32_t> freed_;  // ranks that may send
  TrafficOutcome outcome_;
};

void check(const topology::Graph& graph, const TrafficSettings& traffic) {
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw SimulationError(std::string("traffic: ") + what);
  };
  traffic.paths.check(std::ssize(graph.links()));
  const auto ranks = static_cast<size_t>(graph.num_ranks());
  for (const std::vector<int64_t>* offset : {&traffic.near, &traffic.far}) {
    require(offset->size() == ranks + 1 && std::ranges::is_sorted(*offset) && offset->front() >= 0 &&
                offset->back() <= traffic.paths.num_pairs(),
            "pairs of ranks are not numbered one after the other");
  }
  require(std::ssize(traffic.is_far) == traffic.paths.num_pairs(), "expected one byte a pair");
  require(traffic.window > 0 || traffic.gap_ps.size() == ranks, "expected one mean gap a rank");
  require(std::ranges::none_of(traffic.gap_ps, [](Picoseconds gap) { return gap < 0; }), "a gap is negative");
  require(traffic.outer.size() == graph.links().size(), "expected one byte a link");
  require(traffic.message_bytes > 0, "a message has no bytes");
  require(0 <= traffic.from_ps && traffic.from_ps < traffic.until_ps, "there is no time to count in");
  require(traffic.far_ppm >= 0 && traffic.far_ppm <= 1'000'000, "a share is not between none and all");
}

}  // namespace

TrafficOutcome run_traffic(const topology::Graph& graph, const LinkSettings& links, const PacketSettings& packets,
                           const TrafficSettings& traffic) {
  check(graph, traffic);
  return TrafficRun(graph, links, packets, traffic).run();
}

}  // namespace hocket::simulator
