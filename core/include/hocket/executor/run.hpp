#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "hocket/executor/mesh.hpp"
#include "hocket/executor/program.hpp"
#include "hocket/executor/reduce.hpp"

namespace hocket::executor {

/// One call of a collective. `buffers` are the rank's input and output, in place one a part of the other, of the
/// program's chunks of `chunk_bytes` each. `signature` is what all ranks of the call must agree on.
struct Call {
  std::array<std::byte*, 2> buffers;
  int64_t chunk_bytes;
  ElementType type;
  ReduceOp op;
  uint64_t signature;
  std::chrono::milliseconds timeout;
  std::function<void()> interrupted;  ///< asked some ten times a second; what it throws ends the call
};

/// Runs this rank's part of a program and returns when its result is complete; the endpoints of `mesh` must be open.
///
/// One thread walks through all thread blocks; a message is cut into pieces, and fused steps pass pieces on as they
/// come; a step that receives begins while the one before it still sends, unless it overwrites what is sent. A
/// connection holds any number of messages: what comes before its receive is kept, so that a program proved with some
/// FIFO depth ends whatever the sizes. Throws Error when a peer is gone or runs another call (naming it), or when
/// nothing moved for the call's timeout (naming those that are waited for); `mesh` is of no use then.
void run(const Program& program, Mesh& mesh, const Call& call);

}  // namespace hocket::executor
