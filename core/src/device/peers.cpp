#include "peers.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace hocket::device {

Peers::Peers(std::span<const int32_t> processes) : processes_(processes.begin(), processes.end()) {
  const int32_t own = getpid();
  for (const int32_t process : processes_) {
    const int descriptor = process > 0 && process != own ? static_cast<int>(syscall(SYS_pidfd_open, process, 0)) : -1;
    watched_.push_back({descriptor, POLLIN, 0});
  }
  ended_.reserve(processes_.size());  // so that to look allocates nothing
}

Peers::~Peers() {
  for (const pollfd& one : watched_) {
    if (one.fd >= 0) close(one.fd);
  }
}

const std::vector<int32_t>& Peers::ended() noexcept {
  if (poll(watched_.data(), watched_.size(), 0) <= 0) return ended_;
  for (size_t rank = 0; rank < watched_.size(); rank++) {
    if (watched_[rank].fd < 0 || watched_[rank].revents == 0) continue;
    close(std::exchange(watched_[rank].fd, -1));
    ended_.push_back(static_cast<int32_t>(rank));
  }
  return ended_;
}

int32_t Peers::process(int32_t rank) const {
  const bool is_known = rank >= 0 && static_cast<size_t>(rank) < processes_.size();
  return is_known ? processes_[static_cast<size_t>(rank)] : -1;
}

}  // namespace hocket::device
