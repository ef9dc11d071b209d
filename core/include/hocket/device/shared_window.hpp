#pragma once

#include <cstddef>
#include <cstdint>

namespace hocket::device {

/// Memory that processes of one machine share: without a name, so that it is gone with them, however they end. Zeroed.
class SharedWindow {
 public:
  /// Makes one. Throws Error.
  explicit SharedWindow(int64_t bytes);
  /// That of another process, which has it as file `descriptor`. Throws Error where it cannot be reached.
  SharedWindow(int64_t bytes, int32_t process, int32_t descriptor);
  ~SharedWindow();
  SharedWindow(const SharedWindow&) = delete;
  SharedWindow& operator=(const SharedWindow&) = delete;

  std::byte* data() const { return data_; }
  int32_t descriptor() const { return descriptor_; }

 private:
  void map();

  int64_t bytes_;
  int32_t descriptor_;
  std::byte* data_ = nullptr;
};

}  // namespace hocket::device
