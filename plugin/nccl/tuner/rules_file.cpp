#include "rules_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>
#include <stdexcept>

#include "hocket/checksum.hpp"

namespace hocket::nccl {
namespace {

constexpr off_t kMostBytes = 64 << 20;

std::string path_from_environment() {
  for (const char* variable : {"HOCKET_NCCL_TUNER_TABLE", "NCCL_TUNER_CONFIG_FILE"}) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value != '\0') return value;
  }
  return {};
}

/// Closes what it holds.
struct File {
  explicit File(const char* path) : descriptor(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~File() {
    if (descriptor >= 0) close(descriptor);
  }
  File(const File&) = delete;
  const int descriptor;
};

std::string read_text(const std::string& path) {
  const auto fail = [&](const char* why) { throw std::runtime_error(path + ": " + why); };
  const File file(path.c_str());
  struct stat state;
  if (file.descriptor < 0 || fstat(file.descriptor, &state) != 0) fail(std::strerror(errno));
  // A FIFO or a device would hang the job at its first communicator.
  if (!S_ISREG(state.st_mode)) fail("not a file");
  if (state.st_size > kMostBytes) fail("larger than 64 MiB");
  std::string text(static_cast<size_t>(state.st_size), '\0');
  size_t at = 0;
  while (at < text.size()) {
    const ssize_t count = read(file.descriptor, text.data() + at, text.size() - at);
    if (count < 0 && errno != EINTR) fail(std::strerror(errno));
    if (count == 0) break;
    if (count > 0) at += static_cast<size_t>(count);
  }
  text.resize(at);
  return text;
}

}  // namespace

std::unique_ptr<const RulesFile> RulesFile::from_environment() {
  auto file = std::make_unique<RulesFile>();
  file->path = path_from_environment();
  if (file->path.empty()) return file;
  std::string text;
  try {
    text = read_text(file->path);
  } catch (const std::runtime_error& error) {
    file->failure = error.what();
    return file;
  }
  TunerTable table = parse_tuner_table(text);
  // All or nothing: half a table would choose otherwise on the rank that read less.
  if (!table.problems.empty()) {
    const size_t others = table.problems.size() - 1;
    file->failure = file->path + ":" + std::to_string(table.problems[0].line) + ": " + table.problems[0].text +
                    (others > 0 ? " (and " + std::to_string(others) + " lines more)" : "") +
                    "; hocket nccl tuner check lists all";
    return file;
  }
  file->table = std::move(table);
  // In the log of every rank: that all have the same table can be seen without comparing files.
  file->checksum = crc32({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  file->passed_by = std::make_unique<std::atomic<bool>[]>(file->table.rules.size());
  return file;
}

}  // namespace hocket::nccl
