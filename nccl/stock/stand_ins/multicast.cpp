#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "device.hpp"

namespace hocket::stand_in {
namespace {

/** Memory that a process bound, by its open file. */
struct Binding {
  pid_t process;
  int file;
  size_t memory_offset;
  size_t offset;
  size_t bytes;
};

/** What an object's file begins with. Other processes read it while one adds to it. */
struct Table {
  static constexpr unsigned kMost = 1024;
  unsigned count;
  Binding bindings[kMost];
};

struct Range {
  size_t bytes;
  const Table* table;
};

std::mutex multicast_lock;
std::map<const char*, Range>& ranges() {
  static auto* all = new std::map<const char*, Range>;
  return *all;
}

Table* table_of(int file) {
  void* start = mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return start == MAP_FAILED ? nullptr : static_cast<Table*>(start);
}

/** Where the bound memory lies in this process: mapped at its first use. Called with the lock held. */
char* view_of(const Binding& bound) {
  static auto* views = new std::map<std::tuple<pid_t, int, size_t>, char*>;
  auto [found, fresh] = views->try_emplace({bound.process, bound.file, bound.memory_offset}, nullptr);
  if (!fresh) return found->second;
  std::string path = "/proc/" + std::to_string(bound.process) + "/fd/" + std::to_string(bound.file);
  int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* start = mmap(nullptr, bound.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file,
                     static_cast<off_t>(bound.memory_offset));
  close(file);
  return found->second = start == MAP_FAILED ? nullptr : static_cast<char*>(start);
}

std::map<const char*, Range>::const_iterator range_of(const void* address) {
  auto after = ranges().upper_bound(static_cast<const char*>(address));
  if (after == ranges().begin()) return ranges().end();
  auto found = std::prev(after);
  return static_cast<const char*>(address) < found->first + found->second.bytes ? found : ranges().end();
}

}  // namespace

bool bind_multicast(int file, size_t offset, int memory_file, size_t memory_offset, size_t bytes) {
  std::lock_guard<std::mutex> held(multicast_lock);
  Table* table = table_of(file);
  if (!table) return false;
  unsigned place = __atomic_fetch_add(&table->count, 1U, __ATOMIC_ACQ_REL);
  if (place < Table::kMost) table->bindings[place] = {getpid(), dup(memory_file), memory_offset, offset, bytes};
  munmap(table, sizeof *table);
  return place < Table::kMost;
}

void map_multicast(void* start, size_t bytes, int file) {
  std::lock_guard<std::mutex> held(multicast_lock);
  ranges()[static_cast<char*>(start)] = {bytes, table_of(file)};
}

void unmap_multicast(void* start) {
  std::lock_guard<std::mutex> held(multicast_lock);
  auto found = ranges().find(static_cast<char*>(start));
  if (found == ranges().end()) return;
  if (found->second.table) munmap(const_cast<Table*>(found->second.table), sizeof(Table));
  ranges().erase(found);
}

bool is_multicast(const void* address) {
  std::lock_guard<std::mutex> held(multicast_lock);
  return range_of(address) != ranges().end();
}

std::vector<char*> copies_of(const void* multicast) {
  std::lock_guard<std::mutex> held(multicast_lock);
  auto range = range_of(multicast);
  std::vector<char*> copies;
  if (range == ranges().end() || !range->second.table) return copies;
  size_t at = static_cast<const char*>(multicast) - range->first;
  const Table& table = *range->second.table;
  for (unsigned i = 0; i < std::min(__atomic_load_n(&table.count, __ATOMIC_ACQUIRE), Table::kMost); i++) {
    const Binding& bound = table.bindings[i];
    if (at < bound.offset || at >= bound.offset + bound.bytes) continue;
    if (char* view = view_of(bound)) copies.push_back(view + (at - bound.offset));
  }
  return copies;
}

}  // namespace hocket::stand_in
