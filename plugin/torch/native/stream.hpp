#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace hocket {

/// Appends lines to a file through a memory map: no system call a line, and what is written outlives the process.
///
/// After a kill the file ends in zero bytes, the rest of the space that was reserved; `close` cuts them off. Space is
/// reserved before it is mapped: a full disk must not become a signal. The same as MappedStream of stream.py. Calls but
/// `abandon` and `dropping` come one at a time.
class Stream {
 public:
  /// Opens or makes the file; its folder exists. Throws std::system_error.
  void open(const std::string& path) {
    path_ = path;
    file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (file_ < 0) throw std::system_error(errno, std::generic_category(), path);
    struct stat status;
    if (fstat(file_, &status) != 0) throw std::system_error(errno, std::generic_category(), path);
    if (const int error = reserve(status.st_size, 0)) throw std::system_error(error, std::generic_category(), path);
    dropping_ = false;
    if (status.st_size > 0) append("\n");  // after a line that a killed process left torn
  }

  /// Appends a line; where no space is left, says so once on stderr and drops this line and all that follow.
  void append(std::string_view line) {
    if (dropping_) return;
    if (used_ + line.size() > length_) {
      if (const int error = reserve(offset_ + used_, line.size())) {
        std::fprintf(stderr, "hocket: %s: %s: recording stops here\n", path_.c_str(), std::strerror(error));
        return close();
      }
    }
    std::memcpy(map_ + used_, line.data(), line.size());
    used_ += line.size();
  }

  /// Ends the file behind the last line and goes on in another, which is new. Returns whether it does; if not, that is
  /// said on stderr, and this stream drops everything.
  bool move_to(const std::string& path) {
    if (dropping_) return false;
    munmap(map_, length_);
    map_ = nullptr;
    if (ftruncate(file_, size()) != 0) std::perror(path_.c_str());
    ::close(file_);
    path_ = path;
    file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    const int error = file_ < 0 ? errno : reserve(0, 0);
    if (error == 0) return true;
    std::fprintf(stderr, "hocket: %s: %s: recording stops here\n", path_.c_str(), std::strerror(error));
    dropping_ = true;
    return false;
  }

  /// Bytes that are written into the file.
  std::int64_t size() const { return offset_ + static_cast<std::int64_t>(used_); }

  /// So many bytes are reserved ahead, from the next reservation on.
  void reserve_ahead(std::int64_t size) { ahead_ = size; }

  const std::string& path() const { return path_; }

  /// Ends the file behind the last line and drops what follows.
  void close() {
    if (dropping_) return;
    dropping_ = true;
    munmap(std::exchange(map_, nullptr), length_);
    if (ftruncate(file_, offset_ + used_) != 0) std::perror(path_.c_str());
    ::close(file_);  // a file system of the network shows others what is in it only then
  }

  /// Drops everything from now on and leaves the file alone: for a forked child.
  void abandon() { dropping_ = true; }

  /// Whether lines are dropped: not open yet, or no longer.
  bool dropping() const { return dropping_; }

 private:
  /// Maps the file from the page of `end` on, with room for `size` bytes at least. Returns an errno, 0 when all is
  /// well.
  int reserve(std::int64_t end, std::int64_t size) {
    const std::int64_t page = sysconf(_SC_PAGESIZE);
    const std::int64_t offset = end / page * page;
    const std::int64_t length = end - offset + size + ahead_;
    if (const int error = posix_fallocate(file_, offset, length)) return error;
    void* map = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, file_, offset);
    if (map == MAP_FAILED) return errno;
    if (map_ != nullptr) munmap(map_, length_);
    map_ = static_cast<char*>(map);
    offset_ = offset;
    length_ = length;
    used_ = end - offset;
    return 0;
  }

  std::string path_;
  int file_ = -1;
  std::atomic<bool> dropping_ = true;
  char* map_ = nullptr;
  std::int64_t offset_ = 0;  // of the map in the file
  std::size_t length_ = 0;
  std::size_t used_ = 0;
  std::int64_t ahead_ = 1 << 20;
};

}  // namespace hocket
