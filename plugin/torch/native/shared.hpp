#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "captures.hpp"
#include "device_times.hpp"

namespace hocket {

/// What all kernels share. Never destroyed: gloo's threads may call back while the process ends.
struct Shared {
  Recorder recorder;
  std::atomic<bool> started = false;
  // Opens the stream, however many threads call; asks whether it is still the job's where it is open; takes Python's
  // lock.
  std::function<void()> start;
  std::function<std::unique_ptr<Group>(const std::string&)> find_group;  // by its name; takes Python's lock
  std::function<std::string()> find_line;  // the script's that issues a call; takes Python's lock; empty: not wanted
  DeviceTimes times{recorder};
  Captures captures;
  bool exact_ends = false;              // of asynchronous calls, by a stream that waits for them
  std::vector<std::string> reductions;  // names by number

  std::mutex groups_mutex;
  // A group that is gone leaves its address to another, but not its name.
  std::unordered_map<const c10d::ProcessGroup*, std::pair<std::string, Group*>> groups;
  std::vector<std::unique_ptr<Group>> all_groups;
  std::atomic<std::int64_t> forgotten = 0;  // how often groups were forgotten: what threads remember is then void

  void start_once() {
    if (started) return;
    start();
    started = true;
  }

  static Shared& get() {
    static Shared* shared = new Shared;
    return *shared;
  }
};

inline Group& find_group(const c10d::ProcessGroup& process_group) {
  Shared& shared = Shared::get();
  const std::string& name = process_group.getGroupName();
  struct Last {
    const c10d::ProcessGroup* process_group = nullptr;
    std::int64_t forgotten = 0;
    std::string name;
    Group* group = nullptr;
  };
  thread_local Last last;  // mostly it is the same as before
  const std::int64_t forgotten = shared.forgotten;
  if (last.process_group == &process_group && last.forgotten == forgotten && last.name == name) return *last.group;
  {
    const std::lock_guard lock(shared.groups_mutex);
    const auto known = shared.groups.find(&process_group);
    if (known != shared.groups.end() && known->second.first == name) {
      last = {&process_group, forgotten, name, known->second.second};
      return *last.group;
    }
  }
  std::unique_ptr<Group> group = shared.find_group(name);  // not under our lock: it waits for Python's
  const std::lock_guard lock(shared.groups_mutex);
  shared.groups[&process_group] = {name, group.get()};
  return *shared.all_groups.emplace_back(std::move(group));
}

/// The line of an error, with the first line of what went wrong.
inline std::string error_line(const std::string& op, std::string_view message) {
  std::string line = R"({"k":"error","op":")" + op + R"(","message":")";
  for (const char letter : message.substr(0, message.find('\n'))) {
    if (letter == '"' || letter == '\\') line += '\\';
    line += static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
  }
  return line + "\"}\n";
}

}  // namespace hocket
