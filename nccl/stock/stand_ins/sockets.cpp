// NCCL's own sockets, by which its ranks find each other: it is linked so that its calls come here. It asks them over
// and over, which costs a host of its own nothing, but holds up every other rank where all share a few processors.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "device.hpp"

namespace {

// Long enough that a rank that waits takes no time, short enough where it is the other direction that comes first.
constexpr int kWait_ms = 1;
constexpr size_t kPage = 4096;

template <typename Call>
ssize_t patiently(int socket, short event, Call call) {
  ssize_t done = call();
  if (done >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) return done;
  pollfd wanted{socket, event, 0};
  poll(&wanted, 1, kWait_ms);
  return call();
}

/** What came may be zeros by the megabyte: each rank sends all others of its NVLink domain its whole table of XML. */
void give_zeros_back(char* start, size_t bytes) {
  static const char zeros[kPage] = {};
  char* end = start + bytes;
  char* page = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(start) + kPage - 1) / kPage * kPage);
  char* from = page;
  for (; page + kPage <= end; page += kPage) {
    if (memcmp(page, zeros, kPage) == 0) continue;
    hocket::stand_in::fill(from, 0, static_cast<size_t>(page - from));
    from = page + kPage;
  }
  if (from < page) hocket::stand_in::fill(from, 0, static_cast<size_t>(page - from));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) ssize_t __wrap_recv(int socket, void* data, size_t bytes, int how) {
  ssize_t done = patiently(socket, POLLIN, [=] { return recv(socket, data, bytes, how); });
  if (done > 0) {
    hocketMoved();
    give_zeros_back(static_cast<char*>(data), static_cast<size_t>(done));
  }
  return done;
}
extern "C" __attribute__((visibility("default"))) ssize_t __wrap_send(int socket, const void* data, size_t bytes,
                                                                      int how) {
  return patiently(socket, POLLOUT, [=] { return send(socket, data, bytes, how); });
}
