/// NCCL profiler plugin: one JSON line for every collective and point-to-point call, one file a communicator and rank.
///
/// Files go to the folder $HOCKET_NCCL_PROFILE; without it the plugin asks NCCL for no events. Times are host times in
/// nanoseconds since the epoch; NCCL stops an event when it is enqueued, not when the GPU has finished it.

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "profiler_abi.hpp"

namespace hocket::nccl {
namespace {

int64_t Now() {
  using std::chrono::duration_cast, std::chrono::nanoseconds, std::chrono::system_clock;
  return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
}

/// Bytes of an element of the datatype NCCL names; none for a name this plugin does not know.
std::optional<size_t> ElementBytes(std::string_view datatype) {
  constexpr struct {
    std::string_view suffix;
    size_t bytes;
  } kSizes[] = {{"8", 1}, {"8e4m3", 1}, {"8e5m2", 1}, {"16", 2}, {"32", 4}, {"64", 8}};
  const size_t digits = datatype.find_first_of("0123456789");
  if (digits == datatype.npos) return std::nullopt;
  for (const auto& [suffix, bytes] : kSizes) {
    if (datatype.substr(digits) == suffix) return bytes;
  }
  return std::nullopt;
}

/// One flat JSON object on one line.
class Line {
 public:
  Line& Add(std::string_view key, int64_t value) { return Raw(key, std::to_string(value)); }

  Line& Add(std::string_view key, const char* value) {
    if (value == nullptr) return Raw(key, "null");
    std::string quoted = "\"";
    for (const char c : std::string_view(value)) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return Raw(key, quoted + '"');
  }

  Line& Raw(std::string_view key, std::string_view value) {
    text_ += text_.empty() ? "{\"" : ",\"";
    text_.append(key).append("\":").append(value);
    return *this;
  }

  std::string Finish() && { return std::move(text_) + "}\n"; }

 private:
  std::string text_;
};

/// The file of one communicator on one rank. Lines of any number of threads stay whole, and survive a crash.
class Recorder {
 public:
  explicit Recorder(const std::filesystem::path& path) : file_(std::fopen(path.c_str(), "w"), std::fclose) {
    if (file_) std::setvbuf(file_.get(), nullptr, _IOLBF, BUFSIZ);
  }

  bool is_open() const { return file_ != nullptr; }

  void Write(Line&& line) {
    const std::string text = std::move(line).Finish();
    const std::lock_guard lock(mutex_);
    std::fwrite(text.data(), 1, text.size(), file_.get());
  }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::mutex mutex_;
};

/// What NCCL holds for a communicator.
struct Context {
  std::shared_ptr<Recorder> recorder;
};

/// What NCCL holds for an event; it keeps the file open, for a stop may come after finalize.
struct Event {
  std::shared_ptr<Recorder> recorder;
  Line line;
};

/// The event of every type that is not recorded: with a null parent NCCL would suppress the recorded children.
Event ignored_event;

/// No exception may cross into NCCL.
template <class Body>
Result Guarded(Body body) noexcept {
  try {
    return body();
  } catch (...) {
    return kSystemError;
  }
}

Result Open(void** context, int* mask, const char* name, uint64_t communicator, int nodes, int ranks, int rank,
            Logger log) {
  *context = nullptr;
  *mask = 0;
  const char* folder = std::getenv("HOCKET_NCCL_PROFILE");
  if (folder == nullptr || *folder == '\0') return kSuccess;

  char hash[19];
  std::snprintf(hash, sizeof hash, "0x%016llx", static_cast<unsigned long long>(communicator));
  const std::string stem = "rank" + std::to_string(rank) + "." + hash + "." + std::to_string(getpid());
  const std::filesystem::path path = std::filesystem::path(folder) / (stem + ".jsonl");
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  auto recorder = std::make_shared<Recorder>(path);
  if (!recorder->is_open()) {
    constexpr int kWarn = 2;
    const char* reason = std::strerror(errno);
    if (log != nullptr) log(kWarn, ~0ul, __FILE__, __LINE__, "hocket: cannot write %s: %s", path.c_str(), reason);
    return kSystemError;
  }
  Line line;
  line.Add("event", "communicator").Add("communicator", hash).Add("name", name).Add("rank", rank);
  recorder->Write(std::move(line.Add("ranks", ranks).Add("nodes", nodes).Add("time_ns", Now())));
  *context = new Context{std::move(recorder)};
  *mask = kCollective | kPointToPoint;
  return kSuccess;
}

void AddPayload(Line& line, const char* function, size_t count, const char* datatype) {
  const auto element = ElementBytes(datatype == nullptr ? "" : datatype);
  line.Add("function", function).Add("count", static_cast<int64_t>(count)).Add("datatype", datatype);
  line.Raw("bytes", element ? std::to_string(count * *element) : "null");
}

template <class Descriptor>
Result StartEvent(void* context, void** event, Descriptor* descriptor) {
  return Guarded([&] {
    *event = nullptr;
    if (context == nullptr) return kSuccess;
    *event = &ignored_event;
    Line line;
    if (descriptor->type == kCollective) {
      const Collective& call = descriptor->collective;
      line.Add("event", "collective").Add("sequence", static_cast<int64_t>(call.sequence));
      AddPayload(line, call.function, call.count, call.datatype);
      line.Add("root", call.root).Add("algorithm", call.algorithm).Add("protocol", call.protocol);
      line.Add("channels", call.channels);
    } else if (descriptor->type == kPointToPoint) {
      const PointToPoint& call = descriptor->point_to_point;
      line.Add("event", "p2p");
      AddPayload(line, call.function, call.count, call.datatype);
      line.Add("peer", call.peer).Add("channels", call.channels);
    } else {
      return kSuccess;
    }
    line.Add("start_ns", Now());
    *event = new Event{static_cast<Context*>(context)->recorder, std::move(line)};
    return kSuccess;
  });
}

Result StopEvent(void* event) {
  return Guarded([&] {
    if (event == nullptr || event == &ignored_event) return kSuccess;
    const std::unique_ptr<Event> owned(static_cast<Event*>(event));
    owned->recorder->Write(std::move(owned->line.Add("stop_ns", Now())));
    return kSuccess;
  });
}

/// States belong to events that were not asked for, and may come after their event was stopped: nothing is touched.
Result RecordEventState(void*, int, void*) { return kSuccess; }

Result Finalize(void* context) {
  return Guarded([&] {
    delete static_cast<Context*>(context);
    return kSuccess;
  });
}

Result Init4(void** context, int* mask, const char* name, uint64_t communicator, int nodes, int ranks, int rank,
             Logger log) {
  return Guarded([&] { return Open(context, mask, name, communicator, nodes, ranks, rank, log); });
}

Result Init5(void** context, uint64_t communicator, int* mask, const char* name, int nodes, int ranks, int rank,
             Logger log) {
  return Init4(context, mask, name, communicator, nodes, ranks, rank, log);
}

}  // namespace
}  // namespace hocket::nccl

#define HOCKET_EXPORT extern "C" __attribute__((visibility("default")))
/// The symbols that NCCL looks for: version 4 by 2.27, version 5 since 2.28.
HOCKET_EXPORT const hocket::nccl::Profiler4 ncclProfiler_v4 = {"hocket",
                                                               hocket::nccl::Init4,
                                                               hocket::nccl::StartEvent<hocket::nccl::Descriptor4>,
                                                               hocket::nccl::StopEvent,
                                                               hocket::nccl::RecordEventState,
                                                               hocket::nccl::Finalize};
HOCKET_EXPORT const hocket::nccl::Profiler5 ncclProfiler_v5 = {"hocket",
                                                               hocket::nccl::Init5,
                                                               hocket::nccl::StartEvent<hocket::nccl::Descriptor5>,
                                                               hocket::nccl::StopEvent,
                                                               hocket::nccl::RecordEventState,
                                                               hocket::nccl::Finalize};
