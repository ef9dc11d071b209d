#include <sched.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hocket/error.hpp"
#include "hocket/executor/mesh.hpp"
#include "stream.hpp"
#include "watch.hpp"

namespace hocket::executor {
namespace {

using schedule::StepType;

/// How often a rank with short messages lets others have the core before it sleeps until it is woken, which takes
/// longer. With long ones it would only give the core away.
constexpr int kTurns = 5;
constexpr int kPatienceMs = 1;
constexpr int kLookAroundMs = 100;
constexpr std::chrono::milliseconds kInterruptInterval{100};

/// The bytes of a step that are in its result, and went out.
struct Progress {
  bool started = false;
  int64_t ready = 0;
  int64_t sent = 0;
};

/// A thread block on its way. While a step does nothing but send any more, the next one may take what comes: in a ring
/// every rank sends before it receives, and all would wait for each other.
struct Walker {
  const Block* block;
  Stream* out = nullptr;
  Stream* in = nullptr;
  int64_t position;
  Progress current{};
  Progress next{};
  std::array<std::byte*, 2> messages{};  ///< results of steps that keep none, at even and odd positions

  bool done() const { return position == block->last_step; }
};

/// A call of a program: its thread blocks as coroutines by hand, in one thread. A thread each would cost a switch for
/// each piece; this walks round while anything moves, then sleeps on all connections that somebody wants.
///
/// Why it ends: the program was proved to end with FIFOs of some depth; here FIFOs have any depth, since bytes that
/// nobody asks for yet are kept (`keep_early`) before a rank sleeps for long. So no rank waits for another to take a
/// message for good, and progress here is the progress of the proved execution.
class Run {
 public:
  Run(const Program& program, Mesh& mesh, const Call& call);
  void finish();

 private:
  /// Each returns whether anything moved.
  bool advance(Walker& walker);
  bool move_some(Walker& walker);
  bool look_ahead(Walker& walker);
  bool receive_some(Walker& walker, int64_t position, Progress& progress);
  bool wait(Clock::time_point last_progress);
  void watch_wanted();

  /// Starts the step unless it has to wait; returns whether it is started.
  bool start(int64_t position, Progress& progress);
  bool may_start(const Step& step) const;
  bool overwrites(const Step& next, const std::byte* kept, int64_t kept_bytes) const;
  bool complete(const Walker& walker) const;
  bool wants_input(const Walker& walker) const;
  bool wants_output(const Walker& walker) const;
  int64_t bytes(const Step& step) const { return step.count * call_.chunk_bytes; }
  std::byte* at(Place place) const { return buffers_[place.buffer] + place.offset * call_.chunk_bytes; }
  std::byte* result(const Walker& walker, int64_t position) const;
  [[noreturn]] void give_up() const;

  const Program& program_;
  const Call& call_;
  const int64_t element_bytes_;
  std::array<std::byte*, 3> buffers_;
  std::deque<Stream> streams_;
  std::vector<Walker> walkers_;
  Watch watch_;
};

Run::Run(const Program& program, Mesh& mesh, const Call& call)
    : program_(program),
      call_(call),
      element_bytes_(element_bytes(call.type)),
      buffers_{call.buffers[0], call.buffers[1], mesh.workspace().take(program.chunks[2] * call.chunk_bytes)} {
  Workspace& workspace = mesh.workspace();
  for (const Endpoint& endpoint : program.endpoints) {
    streams_.emplace_back(mesh.connection(endpoint), endpoint.peer, call.signature, workspace);
  }
  for (const Block& block : program.blocks) {
    Walker& walker = walkers_.emplace_back();
    walker.block = &block;
    walker.position = block.first_step;
    if (block.send >= 0) walker.out = &streams_[block.send];
    if (block.receive >= 0) walker.in = &streams_[block.receive];
    std::array<int64_t, 2> longest{};
    for (int64_t s = block.first_step; s < block.last_step; s++) {
      const Step& step = program.steps[s];
      // So a stream knows what belongs to this call: what comes behind is the next one's.
      if (receives(step.type)) walker.in->expect(bytes(step));
      if (step.type == StepType::kReceiveReduceSend) longest[s % 2] = std::max(longest[s % 2], bytes(step));
    }
    for (size_t parity = 0; parity < 2; parity++) walker.messages[parity] = workspace.take(longest[parity]);
  }
}

void Run::finish() {
  int turns = 0;
  Clock::time_point last_progress = Clock::now(), last_question = last_progress;
  while (true) {
    bool moved = false, done = true;
    for (Walker& walker : walkers_) {
      moved |= advance(walker);
      done &= walker.done();
    }
    if (done) return;
    if (moved) {
      turns = 0;
      // On a machine with fewer cores than ranks the peer needs this one to get on; yielding is quicker than sleeping.
    } else if (call_.chunk_bytes <= kPieceBytes && turns++ < kTurns) {
      sched_yield();
      continue;
    }
    if (moved || wait(last_progress)) last_progress = Clock::now();
    if (Clock::now() - last_question > kInterruptInterval) {
      call_.interrupted();
      last_question = Clock::now();
    }
  }
}

bool Run::advance(Walker& walker) {
  bool moved = false;
  while (!walker.done()) {
    if (!start(walker.position, walker.current)) return moved;
    moved |= move_some(walker);
    if (!complete(walker)) return look_ahead(walker) || moved;
    walker.position++;
    walker.current = std::exchange(walker.next, {});
    moved = true;
  }
  return moved;
}

// A step is done when its block has gone past it; blocks go in order, so one number says it.
bool Run::may_start(const Step& step) const {
  if (step.depend_block < 0) return true;
  const Walker& other = walkers_[step.depend_block];
  return other.position > other.block->first_step + step.depend_step;
}

bool Run::start(int64_t position, Progress& progress) {
  const Step& step = program_.steps[position];
  if (progress.started || !may_start(step)) return progress.started;
  progress.started = true;
  if (step.type == StepType::kSend) {
    progress.ready = bytes(step);
  } else if (step.type == StepType::kCopy) {
    std::memmove(at(step.destination), at(step.source), bytes(step));
  } else if (step.type == StepType::kReduce) {
    std::byte* sum = at(step.destination);
    reduce(call_.type, call_.op, sum, at(step.source), sum, bytes(step) / element_bytes_);
  }
  return true;
}

std::byte* Run::result(const Walker& walker, int64_t position) const {
  const Step& step = program_.steps[position];
  if (step.type == StepType::kReceiveReduceSend) return walker.messages[position % 2];
  return at(step.type == StepType::kSend ? step.source : step.destination);
}

bool Run::move_some(Walker& walker) {
  const Step& step = program_.steps[walker.position];
  Progress& progress = walker.current;
  bool moved = receives(step.type) && receive_some(walker, walker.position, progress);
  if (sends(step.type) && progress.sent < progress.ready) {
    const std::byte* message = result(walker, walker.position);
    // In pieces, so that what is reduced is sent while it is still in the cache, and other blocks have their turn.
    const int64_t count = std::min(progress.ready - progress.sent, kPieceBytes);
    const int64_t sent = walker.out->write({message + progress.sent, static_cast<size_t>(count)});
    progress.sent += sent;
    moved |= sent > 0;
  }
  return moved;
}

// Without this a ring would stand: each sends more than a connection holds, and none comes to its receive.
bool Run::look_ahead(Walker& walker) {
  const int64_t next = walker.position + 1;
  const int64_t kept_bytes = bytes(program_.steps[walker.position]);
  if (walker.current.ready < kept_bytes || next == walker.block->last_step) return false;
  const Step& step = program_.steps[next];
  if (!receives(step.type) || overwrites(step, result(walker, walker.position), kept_bytes)) return false;
  return start(next, walker.next) && receive_some(walker, next, walker.next);
}

bool Run::overwrites(const Step& next, const std::byte* kept, int64_t kept_bytes) const {
  const std::byte* written = at(next.destination);
  return writes(next.type) && written < kept + kept_bytes && kept < written + bytes(next);
}

bool Run::receive_some(Walker& walker, int64_t position, Progress& progress) {
  const Step& step = program_.steps[position];
  const int64_t limit = std::min(bytes(step) - progress.ready, kPieceBytes);
  if (limit == 0) return false;
  std::byte* target = result(walker, position) + progress.ready;
  int64_t count;
  if (reduces(step.type)) {
    const std::span<const std::byte> there = walker.in->look(limit);
    const int64_t elements = static_cast<int64_t>(there.size()) / element_bytes_;
    reduce(call_.type, call_.op, at(step.source) + progress.ready, there.data(), target, elements);
    count = elements * element_bytes_;
    walker.in->take(count);
  } else {
    count = walker.in->read({target, static_cast<size_t>(limit)});
  }
  progress.ready += count;
  return count > 0;
}

bool Run::complete(const Walker& walker) const {
  const Step& step = program_.steps[walker.position];
  const Progress& progress = walker.current;
  return (!receives(step.type) || progress.ready == bytes(step)) && (!sends(step.type) || progress.sent == bytes(step));
}

bool Run::wants_input(const Walker& walker) const {
  const auto lacks = [&](int64_t position, const Progress& progress) {
    const Step& step = program_.steps[position];
    return receives(step.type) && progress.ready < bytes(step);
  };
  return (walker.current.started && lacks(walker.position, walker.current)) ||
         (walker.next.started && lacks(walker.position + 1, walker.next));
}

bool Run::wants_output(const Walker& walker) const {
  return walker.current.started && sends(program_.steps[walker.position].type) &&
         walker.current.sent < walker.current.ready;
}

void Run::watch_wanted() {
  for (const Walker& walker : walkers_) {
    if (wants_input(walker)) watch_.add(walker.in->connection(), true, false);
    if (wants_output(walker)) watch_.add(walker.out->connection(), false, true);
  }
}

bool Run::wait(Clock::time_point last_progress) {
  watch_wanted();
  if (watch_.sleep(kPatienceMs)) return false;
  // Peers that cannot go on until their messages are taken: those that no step asks for yet are kept.
  bool moved = false;
  for (Stream& stream : streams_) moved |= stream.owes() && stream.keep_early();
  if (moved) return true;
  if (Clock::now() - last_progress > call_.timeout) give_up();
  watch_wanted();
  for (const Stream& stream : streams_) {
    if (stream.owes()) watch_.add(stream.connection(), true, false);
  }
  watch_.sleep(kLookAroundMs);
  return false;
}

void Run::give_up() const {
  std::set<std::string> awaited;
  for (const Walker& walker : walkers_) {
    if (wants_input(walker)) {
      const char* state = walker.in->begun() ? "" : ", which has not begun this collective";
      awaited.insert("rank " + std::to_string(walker.in->peer()) + state);
    }
    if (wants_output(walker)) awaited.insert("rank " + std::to_string(walker.out->peer()) + " to take a message");
  }
  std::string names;
  for (const std::string& name : awaited) names += (names.empty() ? "" : "; ") + name;
  throw Error("nothing moved for " + std::to_string(call_.timeout.count()) + " ms: waiting for " + names);
}

}  // namespace

void Mesh::run(const Program& program, const Call& call) {
  try {
    Run(program, *this, call).finish();
  } catch (const PeerLost& lost) {
    lost_ = lost.peer;
    throw;
  }
}

}  // namespace hocket::executor
