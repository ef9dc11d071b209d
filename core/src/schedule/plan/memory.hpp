#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "../values.hpp"
#include "hocket/schedule/plan/plan.hpp"
#include "record.hpp"

namespace hocket::schedule::plan {

/// What all locations hold, and of packets which event of which launch wrote them.
/// Packets are LL packets (NCCL's LL protocol, `LLPacket` of MSCCL++): 4 or 8 bytes with a flag, which here is the
/// number of the launch, so that a reader waits for this launch's and no signal is needed.
class Memory {
 public:
  explicit Memory(const Program& program);

  /// The rank's caller writes its buffers for a launch.
  void start_launch(int32_t rank, int32_t launch);

  /// A packet that the step reads and this launch has not written.
  std::optional<int64_t> missing_packet(const Step& step, int32_t launch) const;
  void wait_for_packet(int64_t location, int32_t block) { packet_waiters_[location].push_back(block); }

  int64_t writer(int64_t location) const { return writer_[location]; }
  int64_t shown(int64_t location) const { return shown_[location]; }

  /// What a step writes, location by location.
  std::vector<int32_t> sums(const Step& step, int32_t launch);

  /// Writes `values` in the name of `event`, showing `shown`. Blocks that waited for such packets become `ready`. The
  /// facts of Outcome::kRewritten where this launch had written a packet already, else nothing.
  std::vector<int64_t> write(const Operand& operand, const std::vector<int32_t>& values, int64_t event, int64_t shown,
                             Recorder& recorder, std::vector<int32_t>& ready);

  /// The facts of Outcome::kWrongValue where the rank does not hold what it must after the launch, else nothing.
  std::vector<int64_t> wrong_value(int32_t rank, int32_t launch);

 private:
  /// Whether this launch has written these very packets already.
  bool repeats(const std::vector<int32_t>& values, int64_t first, int32_t launch) const;

  const Program& program_;
  Values values_;
  std::vector<int32_t> memory_;
  std::vector<int32_t> stamp_;   ///< of packets: the launch that wrote them last
  std::vector<int64_t> writer_;  ///< of packets: the event that did
  std::vector<int64_t> shown_;   ///< of packets: the event that says what they show
  std::vector<std::vector<Wanted>> wanted_of_;
  std::vector<std::vector<int64_t>> callers_of_;
  std::unordered_map<int64_t, std::vector<int32_t>> packet_waiters_;
};

}  // namespace hocket::schedule::plan
