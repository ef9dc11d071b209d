#include "mapped_stream.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace hocket {
namespace {

constexpr size_t kReserve = size_t{1} << 20;
constexpr size_t kNumberDigits = 20;

}  // namespace

MappedStream::MappedStream(const std::string& path)
    : path_(path), file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
  struct stat status;
  if (file_ < 0 || fstat(file_, &status) != 0) throw std::system_error(errno, std::generic_category(), path);
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t end = static_cast<size_t>(status.st_size);
  offset_ = end / page * page;
  used_ = end - offset_;
  if (!Reserve(0)) throw std::system_error(errno, std::generic_category(), path);
  if (end > 0) Write("\n");  // after a line that a killed process left torn
}

void MappedStream::Write(std::string_view lines) {
  if (used_ + lines.size() > length_ && (map_ == nullptr || !Reserve(lines.size()))) return;
  std::memcpy(map_ + used_, lines.data(), lines.size());
  used_ += lines.size();
}

void MappedStream::WriteNumbers(char letter, std::initializer_list<int64_t> numbers) {
  char line[8 * (kNumberDigits + 1)];
  char* end = line;
  *end++ = letter;
  for (const int64_t number : numbers) {
    *end++ = ' ';
    end = std::to_chars(end, end + kNumberDigits, number).ptr;
  }
  *end++ = '\n';
  Write({line, end});
}

void MappedStream::Close() {
  if (map_ == nullptr) return;
  Unmap();
  if (ftruncate(file_, static_cast<off_t>(offset_ + used_)) != 0) std::perror(path_.c_str());
  close(file_);
}

/// Maps the file from the page of its end on, with room for `size` more bytes.
bool MappedStream::Reserve(size_t size) {
  Unmap();
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t whole_pages = used_ / page * page;
  offset_ += whole_pages;
  used_ -= whole_pages;
  length_ = used_ + size + kReserve;
  errno = posix_fallocate(file_, static_cast<off_t>(offset_), static_cast<off_t>(length_));
  void* const map = errno != 0 ? MAP_FAILED
                               : mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_SHARED, file_,
                                      static_cast<off_t>(offset_));
  if (map == MAP_FAILED) {
    length_ = 0;
    std::fprintf(stderr, "hocket: %s: %s; what follows is not recorded\n", path_.c_str(), std::strerror(errno));
    return false;
  }
  map_ = static_cast<char*>(map);
  return true;
}

void MappedStream::Unmap() {
  if (map_ != nullptr) munmap(map_, length_);
  map_ = nullptr;
}

}  // namespace hocket
