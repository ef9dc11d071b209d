#include "hocket/simulator/buffer_circle.hpp"

#include <algorithm>
#include <span>
#include <unordered_set>

namespace hocket::simulator {
namespace {

/// Which buffers follow which on the paths of a job. A buffer has the number of the link into its switch; what is in it
/// waits for room in the next one.
class Followers {
 public:
  explicit Followers(const topology::Graph& graph) : graph_(graph), next_(graph.links().size()) {}

  void add(const topology::Paths& paths) {
    const auto num_paths = static_cast<int64_t>(paths.link_offset.size()) - 1;
    for (int64_t path = 0; path < num_paths; path++) add(paths.path(path));
  }

  BufferWaits waits() {
    BufferWaits found{{}, most_buffers_, {}};
    for (int32_t link = 0; link < static_cast<int32_t>(next_.size()) && found.circle.empty(); link++) {
      found.circle = circle_from(link);
    }
    if (!found.circle.empty()) found.ring_of = rings();
    return found;
  }

 private:
  void add(std::span<const int32_t> path) {
    int32_t buffers = 0;
    for (size_t at = 0; at + 1 < path.size(); at++) {
      // A rank takes in all that comes, so nothing waits behind it.
      if (!graph_.is_switch(graph_.links()[path[at]].dst)) {
        buffers = 0;
        continue;
      }
      most_buffers_ = std::max(most_buffers_, ++buffers);
      const bool into_buffer = at + 2 < path.size() && graph_.is_switch(graph_.links()[path[at + 1]].dst);
      if (!into_buffer) continue;
      const uint64_t pair = static_cast<uint64_t>(path[at]) << 32 | static_cast<uint32_t>(path[at + 1]);
      if (known_.insert(pair).second) next_[path[at]].push_back(path[at + 1]);
    }
  }

  /// A circle that a depth-first walk from the link meets, or none. Links behind which there is none are not walked
  /// again.
  std::vector<int32_t> circle_from(int32_t first) {
    if (state_.empty()) state_.assign(next_.size(), State::kUnknown);
    if (state_[first] != State::kUnknown) return {};
    std::vector<int32_t> walk{first};
    std::vector<size_t> tried{0};
    state_[first] = State::kOnWalk;
    while (!walk.empty()) {
      const std::vector<int32_t>& next = next_[walk.back()];
      if (tried.back() == next.size()) {
        state_[walk.back()] = State::kFree;
        walk.pop_back();
        tried.pop_back();
        continue;
      }
      const int32_t link = next[tried.back()++];
      if (state_[link] == State::kOnWalk) return {std::ranges::find(walk, link), walk.end()};
      if (state_[link] == State::kFree) continue;
      state_[link] = State::kOnWalk;
      walk.push_back(link);
      tried.push_back(0);
    }
    return {};
  }

  /// The strongly connected parts of what follows what, in which each buffer has one follower (Tarjan 1972, without
  /// recursion: paths of large networks are longer than a stack).
  std::vector<int32_t> rings() {
    const size_t links = next_.size();
    std::vector<int32_t> ring_of(links, BufferWaits::kNoRing);
    std::vector<size_t> order(links, 0), low(links, 0), tried(links, 0);
    std::vector<int32_t> walk, open;
    std::vector<bool> is_open(links, false);
    size_t met = 0;
    int32_t rings = 0;
    const auto meet = [&](int32_t link) {
      order[link] = low[link] = ++met;
      walk.push_back(link);
      open.push_back(link);
      is_open[link] = true;
    };
    for (int32_t first = 0; first < static_cast<int32_t>(links); first++) {
      if (order[first] == 0) meet(first);
      while (!walk.empty()) {
        const int32_t link = walk.back();
        if (tried[link] < next_[link].size()) {
          const int32_t after = next_[link][tried[link]++];
          if (order[after] == 0) {
            meet(after);
          } else if (is_open[after]) {
            low[link] = std::min(low[link], order[after]);
          }
          continue;
        }
        walk.pop_back();
        if (!walk.empty()) low[walk.back()] = std::min(low[walk.back()], low[link]);
        if (low[link] < order[link]) continue;
        const auto begin = std::ranges::find(open, link);
        for (auto at = begin; at != open.end(); at++) ring_of[*at] = rings;
        if (open.end() - begin > 1) {
          rings += close({begin, open.end()}, ring_of) ? 1 : 0;
        } else {
          ring_of[link] = BufferWaits::kNoRing;
        }
        for (auto at = begin; at != open.end(); at++) is_open[*at] = false;
        open.erase(begin, open.end());
      }
    }
    return ring_of;
  }

  /// Whether links that all have one number are a ring; if not, they are tangled.
  bool close(std::span<const int32_t> part, std::vector<int32_t>& ring_of) const {
    const int32_t number = ring_of[part.front()];
    const bool is_ring = std::ranges::all_of(part, [&](int32_t link) {
      return std::ranges::count_if(next_[link], [&](int32_t after) { return ring_of[after] == number; }) == 1;
    });
    if (is_ring) return true;
    for (const int32_t link : part) ring_of[link] = BufferWaits::kTangled;
    return false;
  }

  enum class State : uint8_t { kUnknown, kOnWalk, kFree };

  const topology::Graph& graph_;
  std::vector<std::vector<int32_t>> next_;
  std::unordered_set<uint64_t> known_;
  std::vector<State> state_;
  int32_t most_buffers_ = 0;
};

}  // namespace

BufferWaits buffer_waits(const Job& job, const std::vector<const Plan*>& plans, const topology::Graph& graph) {
  Followers followers(graph);
  followers.add(job.messages.paths);
  for (const Plan* plan : plans) followers.add(plan->paths());
  return followers.waits();
}

}  // namespace hocket::simulator
