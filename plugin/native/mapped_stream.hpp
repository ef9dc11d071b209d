/// The file of a rank's stream (plugin/torch/stream.py says what is in it), written through a memory map.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace hocket {

/// Appends lines to a file without a system call a line; what is written outlives the process.
///
/// After a kill the file ends in zero bytes, the rest of the space that was reserved; `Close` cuts them off. Space is
/// reserved before it is mapped: a full disk must not become a signal. When it is full, that is said once on stderr and
/// lines are dropped. Callers take turns.
class MappedStream {
 public:
  /// Opens the file, made if absent, behind what it holds. Throws std::system_error.
  explicit MappedStream(const std::string& path);
  MappedStream(const MappedStream&) = delete;
  MappedStream& operator=(const MappedStream&) = delete;

  /// Appends whole lines.
  void Write(std::string_view lines);

  /// Appends `letter` and numbers, none of them negative, as a line.
  void WriteNumbers(char letter, std::initializer_list<int64_t> numbers);

  /// Ends the file behind the last line; what is written afterwards is dropped.
  void Close();

 private:
  bool Reserve(size_t size);
  void Unmap();

  std::string path_;
  int file_;
  char* map_ = nullptr;
  size_t offset_ = 0;  // of the map in the file
  size_t used_ = 0;    // of the map
  size_t length_ = 0;  // of the map
};

}  // namespace hocket
