#pragma once

#include <unistd.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "hocket/executor/mesh.hpp"

namespace hocket::executor {

/// An open file, closed at the end; or none.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

/// How long to wait for something, and what to ask meanwhile, some ten times a second; what that throws ends the wait.
struct Patience {
  Clock::time_point deadline;
  const std::function<void()>& interrupted;

  bool over() const { return Clock::now() > deadline; }
  /// For `poll`.
  int next_ms() const;
};

/// What the connecting rank says first.
struct Hello {
  uint64_t token;
  int32_t rank;
  int32_t channel;
};

// All sockets are non-blocking. Failures throw Error with the system's reason, but for what is said otherwise.

/// Listens on a free port of the host's address, which it also returns.
std::pair<Descriptor, uint16_t> listen_at(const std::string& host);

/// Listens under a name that processes of this machine and network namespace can reach, and no others.
Descriptor listen_nearby(uint64_t name);

Descriptor connect_to(const std::string& host, uint16_t port, const Patience& patience);

/// None where nobody listens under that name here.
Descriptor connect_nearby(uint64_t name);

/// Says hello, and hands `memory` over where there is one.
void introduce(const Descriptor& socket, const Hello& hello, const Descriptor& memory);

}  // namespace hocket::executor
