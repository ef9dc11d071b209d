#pragma once

#include <poll.h>

#include <cstdint>
#include <span>
#include <vector>

namespace hocket::device {

/// The processes of a group's ranks, of which one is told when they end, however they do. Where the system does not
/// tell (before Linux 5.3, or forbidden), none ends.
class Peers {
 public:
  explicit Peers(std::span<const int32_t> processes);
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  /// The ranks whose processes have ended so far.
  const std::vector<int32_t>& ended() noexcept;
  /// A rank's process, -1 where it is not known.
  int32_t process(int32_t rank) const;

 private:
  std::vector<int32_t> processes_;
  std::vector<pollfd> watched_;  ///< by rank; a descriptor of -1 is none
  std::vector<int32_t> ended_;
};

}  // namespace hocket::device
