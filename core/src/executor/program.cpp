#include "hocket/executor/program.hpp"

#include <string>

#include "hocket/error.hpp"
#include "text.hpp"

namespace hocket::executor {

using schedule::StepType;

bool sends(StepType type) {
  return type == StepType::kSend || type == StepType::kReceiveCopySend || type == StepType::kReceiveReduceSend ||
         type == StepType::kReceiveReduceCopySend;
}

// By the order of the enumeration: everything from kReceiveCopySend on receives.
bool receives(StepType type) { return type == StepType::kReceive || type >= StepType::kReceiveCopySend; }

bool reduces(StepType type) {
  return type == StepType::kReduce ||
         (type >= StepType::kReceiveReduceCopy && type <= StepType::kReceiveReduceCopySend);
}

bool reads(StepType type) { return type == StepType::kSend || type == StepType::kCopy || reduces(type); }

bool writes(StepType type) {
  return type != StepType::kSend && type != StepType::kNop && type != StepType::kReceiveReduceSend;
}

namespace {

/// Throws for step `position` of block `b`.
[[noreturn]] void refuse(size_t b, int64_t position, const std::string& why) {
  throw ScheduleError("thread block " + std::to_string(b) + ", step " + std::to_string(position) + ": " + why);
}

void check_place(const Program& program, const Place& place, int32_t count, size_t b, int64_t position) {
  if (place.buffer > 2 || place.offset < 0 || place.offset + int64_t{count} > program.chunks[place.buffer]) {
    refuse(b, position, "lies outside of its buffer");
  }
}

void check_round_place(const Program& program, const Place& place, int32_t count) {
  const int64_t chunks = place.buffer < 3 ? program.chunks[place.buffer] : program.rounds->staging;
  if (place.buffer > 3 || place.offset < 0 || count < 0 || place.offset + int64_t{count} > chunks) {
    throw ScheduleError("a round lies outside of its buffers");
  }
}

void check_rounds(const Program& program) {
  for (const Round& round : program.rounds->rounds) {
    for (const auto* messages : {&round.sends, &round.receives}) {
      for (const Message& message : *messages) check_round_place(program, message.place, message.count);
    }
    for (const LocalStep& step : round.local_steps) {
      check_round_place(program, step.source, step.count);
      check_round_place(program, step.target, step.count);
      if (step.other) check_round_place(program, *step.other, step.count);
    }
  }
}

Place read_place(TextReader& reader) {
  const int64_t buffer = reader.number();
  if (buffer < 0 || buffer > 3) reader.fail("no such buffer");
  return {static_cast<uint8_t>(buffer), reader.small_number()};
}

Step read_step(TextReader& reader) {
  const int64_t type = reader.number();
  if (type < 0 || type > static_cast<int64_t>(StepType::kReceiveReduceCopySend)) reader.fail("no such type of step");
  const Place source = read_place(reader), destination = read_place(reader);
  const int32_t count = reader.small_number(), depend_block = reader.small_number();
  return {static_cast<StepType>(type), source, destination, count, depend_block, reader.small_number()};
}

std::vector<Message> read_messages(TextReader& reader) {
  std::vector<Message> messages;
  for (int64_t left = reader.number(); left > 0; left--) {
    const int32_t peer = reader.small_number();
    const Place place = read_place(reader);
    messages.push_back({peer, place, reader.small_number()});
  }
  return messages;
}

std::vector<LocalStep> read_local_steps(TextReader& reader) {
  std::vector<LocalStep> steps;
  for (int64_t left = reader.number(); left > 0; left--) {
    LocalStep& step = steps.emplace_back();
    step.source = read_place(reader);
    if (reader.number() != 0) step.other = read_place(reader);
    step.target = read_place(reader);
    step.count = reader.small_number();
  }
  return steps;
}

Rounds read_rounds(TextReader& reader) {
  Rounds found{reader.number(), {}};
  for (int64_t left = reader.number(); left > 0; left--) {
    Round& round = found.rounds.emplace_back();
    round.sends = read_messages(reader);
    round.receives = read_messages(reader);
    round.local_steps = read_local_steps(reader);
  }
  return found;
}

}  // namespace

Program read_program(std::istream& text, const std::string& source) {
  TextReader reader(text, source);
  Program program{};
  for (int64_t& chunks : program.chunks) chunks = reader.number();
  for (int64_t left = reader.number(); left > 0; left--) {
    const int32_t peer = reader.small_number();
    program.endpoints.push_back({peer, reader.small_number()});
  }
  int64_t first = 0;
  const auto endpoint = [&] {
    const int32_t number = reader.small_number();
    if (number < -1 || number >= static_cast<int32_t>(program.endpoints.size())) reader.fail("no such endpoint");
    return number;
  };
  for (int64_t left = reader.number(); left > 0; left--) {
    const int32_t send = endpoint(), receive = endpoint();
    const int64_t last = first + reader.number();
    program.blocks.push_back({send, receive, first, last});
    first = last;
  }
  for (int64_t left = reader.number(); left > 0; left--) program.steps.push_back(read_step(reader));
  if (first != static_cast<int64_t>(program.steps.size())) throw ScheduleError("thread blocks do not hold all steps");
  if (reader.number() != 0) program.rounds = read_rounds(reader);
  reader.end();
  check(program);
  return program;
}

// What is checked here is what keeps a program within its own memory; that its result is right was proved before it was
// written.
void check(const Program& program) {
  if (program.rounds) check_rounds(program);
  const auto num_blocks = static_cast<int32_t>(program.blocks.size());
  std::vector<uint8_t> sender(program.endpoints.size()), receiver(program.endpoints.size());
  for (size_t b = 0; b < program.blocks.size(); b++) {
    const Block& block = program.blocks[b];
    // One sender and one receiver a direction: then the order of messages is the program's, whoever runs when.
    if ((block.send >= 0 && sender[block.send]++) || (block.receive >= 0 && receiver[block.receive]++)) {
      throw ScheduleError("thread block " + std::to_string(b) + " shares a direction of a connection with another");
    }
    for (int64_t s = block.first_step; s < block.last_step; s++) {
      const Step& step = program.steps[s];
      const int64_t position = s - block.first_step;
      if (step.type > StepType::kReceiveReduceCopySend || step.count < 0) refuse(b, position, "is none");
      if (reads(step.type)) check_place(program, step.source, step.count, b, position);
      if (writes(step.type)) check_place(program, step.destination, step.count, b, position);
      if ((sends(step.type) && block.send < 0) || (receives(step.type) && block.receive < 0)) {
        refuse(b, position, "has no connection");
      }
      if (step.depend_block < 0) continue;
      if (step.depend_block >= num_blocks) refuse(b, position, "waits for a thread block that does not exist");
      const Block& other = program.blocks[step.depend_block];
      if (step.depend_step < 0 || step.depend_step >= other.last_step - other.first_step) {
        refuse(b, position, "waits for a step that does not exist");
      }
    }
  }
}

}  // namespace hocket::executor
