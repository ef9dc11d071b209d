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
    BufferWaits found{{}, most_buffers_};
    for (int32_t link = 0; link < static_cast<int32_t>(next_.size()) && found.circle.empty(); link++) {
      found.circle = circle_from(link);
    }
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
