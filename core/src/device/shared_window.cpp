#include "hocket/device/shared_window.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "hocket/error.hpp"

namespace hocket::device {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(what + ": " + std::strerror(errno)); }

}  // namespace

SharedWindow::SharedWindow(int64_t bytes) : bytes_(bytes), descriptor_(memfd_create("hocket-window", MFD_CLOEXEC)) {
  if (descriptor_ < 0) refuse("cannot make memory that processes share");
  if (ftruncate(descriptor_, bytes) != 0) {
    close(descriptor_);
    refuse("cannot make " + std::to_string(bytes) + " bytes that processes share");
  }
  map();
}

// By the descriptors that the system shows of a process: they need no name that could outlive it.
SharedWindow::SharedWindow(int64_t bytes, int32_t process, int32_t descriptor) : bytes_(bytes) {
  const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor);
  descriptor_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor_ < 0) refuse("cannot reach the memory of process " + std::to_string(process));
  // Of another's number for what is no window nothing may be written.
  std::array<char, 32> target{};
  struct stat found{};
  const bool is_window = readlink(path.c_str(), target.data(), target.size() - 1) > 0 &&
                         std::string(target.data()).starts_with("/memfd:hocket-window") &&
                         fstat(descriptor_, &found) == 0 && found.st_size == bytes;
  if (!is_window) {
    close(descriptor_);
    throw Error("process " + std::to_string(process) + " has no window of " + std::to_string(bytes) + " bytes there");
  }
  map();
}

SharedWindow::~SharedWindow() {
  if (data_ != nullptr) munmap(data_, bytes_);
  close(descriptor_);
}

void SharedWindow::map() {
  void* const place = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (place == MAP_FAILED) {
    close(descriptor_);
    refuse("cannot map memory that processes share");
  }
  data_ = static_cast<std::byte*>(place);
}

}  // namespace hocket::device
