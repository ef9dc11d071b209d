#include "hocket/executor/run.hpp"

#include <poll.h>

#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "hocket/error.hpp"
#include "stream.hpp"

namespace hocket::executor {
namespace {

using schedule::StepType;

// A piece fits into a core's second-level cache beside what it is reduced with.
constexpr int64_t kPieceBytes = 1 << 18;
constexpr int kPatienceMs = 1;
constexpr int kLookAroundMs = 1000;

/// A thread block on its way: the bytes of its current step that came, are in the result, and went out.
struct Walker {
  const Block* block;
  Stream* out = nullptr;
  Stream* in = nullptr;
  int64_t position;
  bool started = false;
  int64_t received = 0;
  int64_t ready = 0;
  int64_t sent = 0;
  std::vector<std::byte> pieces;   ///< what came and is not reduced yet
  std::vector<std::byte> message;  ///< the result of a step that keeps none

  bool done() const { return position == block->last_step; }
};

class Run {
 public:
  Run(const Program& program, const Mesh& mesh, const Call& call);
  void finish();

 private:
  /// Each returns whether anything moved.
  bool advance(Walker& walker);
  bool move_some(Walker& walker, const Step& step);
  bool receive_some(Walker& walker, const Step& step, std::byte* result, int64_t bytes);
  bool wait(Clock::time_point last_progress);

  bool may_start(const Step& step) const;
  void begin(Walker& walker, const Step& step);
  bool complete(const Walker& walker, const Step& step) const;
  bool wants_input(const Walker& walker) const;
  bool wants_output(const Walker& walker) const;
  std::byte* at(Place place) { return buffers_[place.buffer] + place.offset * call_.chunk_bytes; }
  [[noreturn]] void give_up() const;

  const Program& program_;
  const Call& call_;
  const int64_t element_bytes_;
  std::unique_ptr<std::byte[]> scratch_;
  std::array<std::byte*, 3> buffers_;
  std::vector<Stream> streams_;
  std::vector<Walker> walkers_;
};

Run::Run(const Program& program, const Mesh& mesh, const Call& call)
    : program_(program),
      call_(call),
      element_bytes_(element_bytes(call.type)),
      scratch_(new std::byte[program.chunks[2] * call.chunk_bytes]),
      buffers_{call.buffers[0], call.buffers[1], scratch_.get()} {
  for (const Endpoint& endpoint : program.endpoints) {
    streams_.emplace_back(mesh.socket(endpoint), endpoint.peer, call.signature);
  }
  for (const Block& block : program.blocks) {
    Walker& walker = walkers_.emplace_back();
    walker.block = &block;
    walker.position = block.first_step;
    if (block.send >= 0) walker.out = &streams_[block.send];
    if (block.receive >= 0) walker.in = &streams_[block.receive];
    for (int64_t s = block.first_step; s < block.last_step; s++) {
      if (receives(program.steps[s].type)) walker.in->expect(program.steps[s].count * call.chunk_bytes);
    }
  }
}

void Run::finish() {
  Clock::time_point last_progress = Clock::now();
  while (true) {
    bool moved = false, done = true;
    for (Walker& walker : walkers_) {
      moved |= advance(walker);
      done &= walker.done();
    }
    if (done) return;
    if (moved || wait(last_progress)) last_progress = Clock::now();
  }
}

bool Run::advance(Walker& walker) {
  bool moved = false;
  while (!walker.done()) {
    const Step& step = program_.steps[walker.position];
    if (!walker.started) {
      if (!may_start(step)) return moved;
      begin(walker, step);
    }
    const bool some = move_some(walker, step);
    moved |= some;
    if (!complete(walker, step)) return moved;
    walker.position++;
    walker.started = false;
    moved = true;
  }
  return moved;
}

bool Run::may_start(const Step& step) const {
  if (step.depend_block < 0) return true;
  const Walker& other = walkers_[step.depend_block];
  return other.position > other.block->first_step + step.depend_step;
}

void Run::begin(Walker& walker, const Step& step) {
  walker.started = true;
  walker.received = walker.ready = walker.sent = 0;
  const int64_t bytes = step.count * call_.chunk_bytes;
  if (step.type == StepType::kSend) {
    walker.ready = bytes;
  } else if (step.type == StepType::kCopy) {
    std::memmove(at(step.destination), at(step.source), bytes);
  } else if (step.type == StepType::kReduce) {
    reduce(call_.type, call_.op, at(step.destination), at(step.source), at(step.destination), bytes / element_bytes_);
  } else if (step.type == StepType::kReceiveReduceSend) {
    walker.message.resize(bytes);
  }
  if (receives(step.type) && reduces(step.type)) walker.pieces.resize(kPieceBytes);
}

bool Run::move_some(Walker& walker, const Step& step) {
  const int64_t bytes = step.count * call_.chunk_bytes;
  std::byte* result = step.type == StepType::kSend                ? at(step.source)
                      : step.type == StepType::kReceiveReduceSend ? walker.message.data()
                                                                  : at(step.destination);
  bool moved = receives(step.type) && receive_some(walker, step, result, bytes);
  if (sends(step.type) && walker.sent < walker.ready) {
    const int64_t sent = walker.out->write(
        {result + walker.sent, static_cast<size_t>(std::min(walker.ready - walker.sent, kPieceBytes))});
    walker.sent += sent;
    moved |= sent > 0;
  }
  return moved;
}

bool Run::receive_some(Walker& walker, const Step& step, std::byte* result, int64_t bytes) {
  const auto left = static_cast<size_t>(bytes - walker.received);
  if (left == 0) return false;
  if (!reduces(step.type)) {
    const int64_t count = walker.in->read({result + walker.received, left});
    walker.received += count;
    walker.ready = walker.received;
    return count > 0;
  }
  // A piece may end within an element, whose bytes then wait at the front of `pieces`.
  const int64_t kept = walker.received - walker.ready;
  const size_t room = static_cast<size_t>(kPieceBytes - kept);
  const int64_t count = walker.in->read({walker.pieces.data() + kept, std::min(left, room)});
  walker.received += count;
  const int64_t elements = (kept + count) / element_bytes_, reduced = elements * element_bytes_;
  reduce(call_.type, call_.op, at(step.source) + walker.ready, walker.pieces.data(), result + walker.ready, elements);
  walker.ready += reduced;
  if (reduced > 0) std::memmove(walker.pieces.data(), walker.pieces.data() + reduced, kept + count - reduced);
  return count > 0;
}

bool Run::complete(const Walker& walker, const Step& step) const {
  const int64_t bytes = step.count * call_.chunk_bytes;
  return (!receives(step.type) || walker.ready == bytes) && (!sends(step.type) || walker.sent == bytes);
}

bool Run::wants_input(const Walker& walker) const {
  if (!walker.started || walker.done()) return false;
  const Step& step = program_.steps[walker.position];
  return receives(step.type) && walker.received < step.count * call_.chunk_bytes;
}

bool Run::wants_output(const Walker& walker) const {
  if (!walker.started || walker.done()) return false;
  return sends(program_.steps[walker.position].type) && walker.sent < walker.ready;
}

bool Run::wait(Clock::time_point last_progress) {
  std::vector<pollfd> wanted;
  for (const Walker& walker : walkers_) {
    if (wants_input(walker)) wanted.push_back({walker.in->socket(), POLLIN, 0});
    if (wants_output(walker)) wanted.push_back({walker.out->socket(), POLLOUT, 0});
  }
  if (poll(wanted.data(), wanted.size(), kPatienceMs) > 0) return false;
  // Peers that cannot go on until their messages are taken: those that no step asks for yet are kept.
  bool moved = false;
  for (Stream& stream : streams_) moved |= stream.owes() && stream.keep_early();
  if (moved) return true;
  if (Clock::now() - last_progress > call_.timeout) give_up();
  for (const Stream& stream : streams_) {
    if (stream.owes()) wanted.push_back({stream.socket(), POLLIN, 0});
  }
  poll(wanted.data(), wanted.size(), kLookAroundMs);
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

void run(const Program& program, const Mesh& mesh, const Call& call) { Run(program, mesh, call).finish(); }

}  // namespace hocket::executor
