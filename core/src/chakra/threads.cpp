#include "hocket/chakra/threads.hpp"

#include <algorithm>
#include <unordered_map>

#include "hocket/error.hpp"

namespace hocket::chakra {
namespace {

struct Event {
  int64_t time;
  int64_t call;
  bool is_wait;

  auto operator<=>(const Event&) const = default;
};

/// A thread, until when it is told and which nodes what comes next depends on (ascending).
struct Thread {
  int64_t until;
  int64_t last;                     ///< its last event
  int64_t batch = Activity::kNone;  ///< that it is issuing
  std::vector<uint64_t> tail = {};
  std::vector<int64_t> spans = {};
  size_t next_span = 0;
};

/// A thread's time is covered without holes: spans it computed in, gaps that count as computing, calls as points, and
/// waits in which it did nothing. What it does next depends on the end of what it did last, and on what it waited for:
/// that is the happens-before order of the job, from times alone. Chakra's linker does this from PyTorch's two
/// profilers; here one list of calls suffices.
///
/// Invariant: `until` only grows, and `tail` is what the thread's next node depends on, minimal as far as known.
class Chains {
 public:
  explicit Chains(const Activity& activity) : activity_(activity), node_of_(activity.start.size()) {
    nodes_.deps_offset.push_back(0);
    for (size_t call = 0; call < activity.start.size(); call++) {
      const auto row = static_cast<int64_t>(call);
      events_.push_back({activity.start[call], row, false});
      if (activity.wait_end[call] != Activity::kNone) {
        events_.push_back({std::max(activity.wait_begin[call], activity.start[call]), row, true});
      }
    }
    std::ranges::sort(events_);
    for (const Event& event : events_) thread_of(event).last = event.time;
    find(activity.main).last = activity.end;
    for (size_t span = 0; span < activity.span_begin.size(); span++) {
      find(activity.span_thread[span]).spans.push_back(static_cast<int64_t>(span));
    }
  }

  ThreadNodes build() {
    auto event = events_.begin();
    for (const int64_t mark : activity_.marks) {
      for (; event != events_.end() && event->time <= mark && mark != activity_.marks.front(); ++event) follow(*event);
      for (Thread& thread : threads_) {
        if (thread.last >= mark) compute_until(thread, mark);
      }
      nodes_.mark_nodes.push_back(std::ssize(nodes_.what));
    }
    for (; event != events_.end(); ++event) follow(*event);
    compute_until(find(activity_.main), activity_.end);
    return std::move(nodes_);
  }

 private:
  Thread& find(int64_t name) {
    const auto [found, is_new] = index_.try_emplace(name, threads_.size());
    if (is_new) threads_.push_back({.until = activity_.marks.front(), .last = activity_.marks.front()});
    return threads_[found->second];
  }

  Thread& thread_of(const Event& event) {
    return find(event.is_wait ? activity_.wait_thread[event.call] : activity_.thread[event.call]);
  }

  void follow(const Event& event) {
    Thread& thread = thread_of(event);
    const int64_t batch = event.is_wait ? Activity::kNone : activity_.batch[event.call];
    // Calls of a batch (a group of NCCL's calls, for example) are issued as one: no computing between them.
    if (batch == Activity::kNone || batch != thread.batch) compute_until(thread, event.time);
    thread.batch = batch;
    if (event.is_wait) {
      wait(thread, node_of_[event.call]);
      thread.until = std::max(thread.until, activity_.wait_end[event.call]);
    } else {
      node_of_[event.call] = add(thread, event.call, event.time, event.time);
    }
  }

  /// The spans that begin in the time, and gaps between them.
  void compute_until(Thread& thread, int64_t time) {
    if (time <= thread.until) return;
    for (; thread.next_span < thread.spans.size(); thread.next_span++) {
      const int64_t span = thread.spans[thread.next_span];
      const int64_t begin = activity_.span_begin[span];
      if (begin >= time) break;
      // A span inside of one that is told already: only the outermost counts.
      if (begin < thread.until) continue;
      compute(thread, ThreadNodes::kGap, begin);
      compute(thread, -2 - span, std::min(activity_.span_end[span], time));
    }
    compute(thread, ThreadNodes::kGap, time);
  }

  void compute(Thread& thread, int64_t what, int64_t until) {
    if (until <= thread.until) return;
    const int64_t node = add(thread, what, thread.until, until);
    thread.tail.assign(1, node);
    thread.until = until;
  }

  int64_t add(const Thread& thread, int64_t what, int64_t begin, int64_t end) {
    nodes_.what.push_back(what);
    nodes_.begin.push_back(begin);
    nodes_.end.push_back(end);
    nodes_.deps.insert(nodes_.deps.end(), thread.tail.begin(), thread.tail.end());
    nodes_.deps_offset.push_back(std::ssize(nodes_.deps));
    return std::ssize(nodes_.what) - 1;
  }

  /// The thread goes on after `node`, which takes the place of what it depends on itself.
  void wait(Thread& thread, int64_t node) {
    const auto first = nodes_.deps.begin() + nodes_.deps_offset[node];
    const auto behind = nodes_.deps.begin() + nodes_.deps_offset[node + 1];
    std::erase_if(thread.tail, [&](uint64_t id) { return std::binary_search(first, behind, id); });
    const auto place = std::ranges::lower_bound(thread.tail, static_cast<uint64_t>(node));
    if (place == thread.tail.end() || *place != static_cast<uint64_t>(node)) thread.tail.insert(place, node);
  }

  const Activity& activity_;
  std::vector<Event> events_;
  std::vector<Thread> threads_;
  std::unordered_map<int64_t, size_t> index_;
  std::vector<int64_t> node_of_;
  ThreadNodes nodes_;
};

}  // namespace

ThreadNodes chain_threads(const Activity& activity) {
  const size_t calls = activity.start.size(), spans = activity.span_begin.size();
  const bool fits = activity.thread.size() == calls && activity.wait_begin.size() == calls &&
                    activity.wait_end.size() == calls && activity.wait_thread.size() == calls &&
                    activity.batch.size() == calls && activity.span_end.size() == spans &&
                    activity.span_thread.size() == spans;
  if (!fits) throw TraceError("the columns of a thread's calls or spans differ in length");
  if (activity.marks.empty()) throw TraceError("a rank's activity has no mark where it begins");
  return Chains(activity).build();
}

}  // namespace hocket::chakra
