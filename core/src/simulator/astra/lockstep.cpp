#include "lockstep.hpp"

#include <algorithm>
#include <optional>

#include "algorithms.hpp"
#include "engine.hpp"

namespace hocket::simulator::astra {
namespace {

/// A phase whose length is known.
class KnownPhase final : public Phase {
 public:
  KnownPhase(Ties& ties, const Endpoint& endpoint, uint32_t course, Nanoseconds duration, uint32_t beginning)
      : ties_(ties), endpoint_(endpoint), course_(course), duration_(duration), beginning_(beginning) {}

  void start() override { endpoint_.pass(duration_); }
  void processed() override {
    ties_.follow(course_, beginning_);
    endpoint_.finish();
  }

 private:
  Ties& ties_;
  Endpoint endpoint_;
  uint32_t course_;
  Nanoseconds duration_;
  uint32_t beginning_;
};

/// Whether messages of a phase wait for none of the same phase, in any rank: with congestion, every rank sends one at a
/// time to a rank that receives no other, or over links of their own.
bool is_undisturbed(const Dimension& dimension, const PhasePlan& plan, int32_t to) {
  if (dimension.shape == Shape::kFullyConnected) return true;
  const bool is_one_at_a_time = plan.algorithm != Algorithm::kDirect || rounds_of_direct(plan).window == 1;
  return is_one_at_a_time && (dimension.shape == Shape::kSwitch || to == 1 || to == dimension.size - 1);
}

}  // namespace

/// One phase on the first rank, which is sent what it sends.
/// Runs a phase against its own mirror: by symmetry, what comes is what a rank sent as long ago as a message takes.
class Lockstep::Rehearsal {
 public:
  Rehearsal(Engine& engine, Course& course) : engine_(engine), course_(course) {}

  void run() {
    const std::unique_ptr<Phase> phase = make_exchange<View>(course_.plan, *this);
    if (!phase) {
      course_.is_certain = false;
      return;
    }
    phase->start();
    std::optional<Event> last;
    while (!is_over_ && !events_.empty()) {
      const Event event = events_.pop();
      // Messages do not matter one by one, but whether one comes before or after the end of another's processing does.
      if (last && last->time == event.time && last->kind != event.kind) course_.is_certain = false;
      last = event;
      now_ = event.time;
      event.kind == kProcessed ? phase->processed() : phase->received();
    }
    course_.is_certain &= is_over_;
    course_.duration = now_;
  }

 private:
  enum Kind : uint32_t { kProcessed, kReceived };

  /// What the exchange sees of it.
  class View {
   public:
    explicit View(Rehearsal& all) : all_(all) {}
    void process(int64_t bytes, bool reduces) const { all_.process(bytes, reduces); }
    void exchange(int32_t to, int32_t, int64_t bytes) const { all_.send(to, bytes); }
    void finish() const { all_.is_over_ = true; }

   private:
    Rehearsal& all_;
  };

  void process(int64_t bytes, bool reduces) {
    const Nanoseconds reducing = reduces ? reduction(bytes, engine_.system.local_memory_bandwidth) : 0;
    events_.push({now_ + engine_.system.endpoint_delay + reducing, kProcessed, 0});
  }

  void send(int32_t to, int64_t bytes) {
    std::vector<Sent>& sent = course_.sent;
    if (sent.empty() || sent.back().to != to || sent.back().bytes != bytes) {
      sent.push_back({to, bytes, 0});
      message_time_ = time(to, bytes);
    }
    sent.back().messages++;
    events_.push({now_ + message_time_, kReceived, 0});
  }

  Nanoseconds time(int32_t to, int64_t bytes) {
    const Nanoseconds arrival = engine_.links.time(0, to, bytes).arrival;
    if (!engine_.system.congestion) return arrival;
    const Dimension& dimension = engine_.dimensions.front();
    if (!is_undisturbed(dimension, course_.plan, to)) course_.is_certain = false;
    return dimension.shape == Shape::kSwitch ? 2 * arrival : arrival;
  }

  Engine& engine_;
  Course& course_;
  EventQueue events_;
  Nanoseconds now_ = 0;
  Nanoseconds message_time_ = 0;
  bool is_over_ = false;
};

// Whatever tells one rank from another rules it out: addressed messages, shared servers, groups, graphs by position.
bool Lockstep::suits(const Engine& engine) {
  const Program& program = engine.program;
  const System& system = engine.system;
  for (uint32_t node = 0; node < program.num_nodes(); node++) {
    const Action action = program.action_of(node);
    if (action == Action::kSend || action == Action::kReceive) return false;
    if (action == Action::kMemory && engine.memory.is_shared()) return false;
    if (program.group[node] >= 0 || program.custom[node] >= 0) return false;
  }
  const bool is_one_stream = system.queues_per_dimension == 1 && system.active_chunks == 1;
  return system.endpoint_delay > 0 && !system.rendezvous && (!system.congestion || is_one_stream);
}

std::unique_ptr<Phase> Lockstep::make_phase(const PhasePlan& plan, uint32_t beginning, const Endpoint& endpoint) {
  Course& course = course_of(plan);
  course.phases++;
  if (!course.is_certain) engine_.ties.matters();
  const auto number = static_cast<uint32_t>(&course - courses_.data());
  return std::make_unique<KnownPhase>(engine_.ties, endpoint, number, course.duration, beginning);
}

Lockstep::Course& Lockstep::course_of(const PhasePlan& plan) {
  PhasePlan in_any_queue = plan;
  // The queue decides when a phase begins, not how long it takes: courses are few, however many chunks there are.
  in_any_queue.queue = 0;
  const auto known = std::ranges::find(courses_, in_any_queue, &Course::plan);
  if (known != courses_.end()) return *known;
  Course& course = courses_.emplace_back();
  course.plan = in_any_queue;
  Rehearsal(engine_, course).run();
  return course;
}

// What the first rank sent, sent by every rank to its own peer: for statistics, which the lockstep has not simulated.
void Lockstep::count() const {
  for (const Course& course : courses_) {
    const LogicalRing& ring = course.plan.ring;
    for (const Sent& sent : course.sent) {
      const int32_t distance = sent.to / ring.stride;
      for (int32_t rank = 0; rank < engine_.num_ranks; rank++) {
        const int32_t position = rank / ring.stride % ring.size;
        const bool is_mirrored = course.plan.algorithm == Algorithm::kHalvingDoubling;
        const int32_t to = is_mirrored ? position ^ distance : ring.step(position, distance);
        const int32_t peer = rank + (to - position) * ring.stride;
        engine_.links.count(rank, peer, sent.bytes, sent.messages * course.phases,
                            engine_.links.time(rank, peer, sent.bytes));
      }
    }
  }
}

}  // namespace hocket::simulator::astra
