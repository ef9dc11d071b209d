/// NCCL tuner plugin: what a table of rules says instead of what NCCL's model would take.
///
/// This is NCCL's side: the functions it looks up. All return success, whatever happens: another result would make the
/// communicator or the collective fail. What is wrong with the table is said once through NCCL's logger; then NCCL
/// chooses as it would without the plugin.

#include <atomic>
#include <memory>
#include <new>

#include "abi.hpp"
#include "hocket/nccl/tuner/choice.hpp"
#include "rules_file.hpp"

namespace hocket::nccl {
namespace {

/// What tells of the table appears with NCCL_DEBUG=INFO, whichever of these NCCL_DEBUG_SUBSYS asks for.
constexpr unsigned long kInit = 1, kTuning = 64, kEnvironment = 128;
constexpr unsigned long kSubsystems = kInit | kTuning | kEnvironment;

struct Communicator {
  const RulesFile& file;
  const CommunicatorRules rules;
  const Logger log;
};

/// The table, read at the first communicator and kept until the plugin is unloaded: the ranks of a communicator would
/// hang if they chose differently, so a file that changes during a job counts in none. Without locks, which a fork
/// might leave taken.
class Process {
 public:
  /// At exit NCCL's threads may still ask: then the table stays.
  ~Process() {
    if (open_ == 0) delete file_.load();
  }

  /// `constants` are NULL where NCCL does not offer its own.
  void open(void** context, const TunerShape& shape, Logger log, Constants* constants) noexcept {
    *context = nullptr;
    try {
      const RulesFile& file = load(log);
      if (constants != nullptr) {
        rewrite_constants(file.table, shape, reinterpret_cast<double*>(constants));
      } else if (!file.table.constants.empty() && !constants_said_.exchange(true) && log != nullptr) {
        log(kInfo, kSubsystems, __FILE__, __LINE__, "hocket: %s: this NCCL takes no constants: 2.28 and later do",
            file.path.c_str());
      }
      auto rules = CommunicatorRules(file.table, shape);
      if (rules.empty()) return;
      *context = new Communicator{file, std::move(rules), log};
      ++open_;
    } catch (const std::bad_alloc&) {
      if (log != nullptr) log(kWarn, kSubsystems, __FILE__, __LINE__, "hocket: the tuner does nothing: out of memory");
    }
  }

  void close(const Communicator* communicator) noexcept {
    if (communicator == nullptr) return;
    delete communicator;
    --open_;
  }

 private:
  const RulesFile& load(Logger log) {
    const RulesFile* present = file_.load(std::memory_order_acquire);
    if (present != nullptr) return *present;
    auto file = RulesFile::from_environment();
    // Two threads may read it at once; the first one's table is everybody's.
    if (!file_.compare_exchange_strong(present, file.get())) return *present;
    const RulesFile& mine = *file.release();
    if (log != nullptr) introduce(mine, log);
    return mine;
  }

  static void introduce(const RulesFile& file, Logger log) {
    if (!file.failure.empty()) {
      log(kWarn, kSubsystems, __FILE__, __LINE__, "hocket: the tuner does nothing: %s", file.failure.c_str());
    } else if (file.path.empty()) {
      log(kInfo, kSubsystems, __FILE__, __LINE__, "hocket: the tuner does nothing: HOCKET_NCCL_TUNER_TABLE is not set");
    } else {
      log(kInfo, kSubsystems, __FILE__, __LINE__, "hocket: %s: %zu rules, %zu constants, checksum %08x",
          file.path.c_str(), file.table.rules.size(), file.table.constants.size(), file.checksum);
    }
  }

  std::atomic<const RulesFile*> file_{nullptr};
  std::atomic<int> open_{0};
  std::atomic<bool> constants_said_{false};
};

Process process;

void say_unavailable(const Communicator& communicator, int32_t index) {
  if (communicator.file.passed_by[static_cast<size_t>(index)].exchange(true) || communicator.log == nullptr) return;
  const TunerRule& rule = communicator.file.table.rules[static_cast<size_t>(index)];
  const auto name = [](const auto& names, int32_t at) {
    return at == kAny ? "-1" : names[static_cast<size_t>(at)].data();
  };
  communicator.log(kInfo, kSubsystems, __FILE__, __LINE__,
                   "hocket: %s:%d: NCCL does not offer %s with %s for this %s: the next rule is taken",
                   communicator.file.path.c_str(), rule.line, name(kAlgorithmNames, rule.algorithm),
                   name(kProtocolNames, rule.protocol), kFunctionNames[rule.function].data());
}

Result choose(void* context, int function, size_t bytes, int pipe_operations, float** costs, int algorithms,
              int protocols, int registered, int* channels) noexcept {
  const auto* const communicator = static_cast<const Communicator*>(context);
  if (communicator == nullptr || function < 0 || function >= kFunctions) return kSuccess;
  auto* const entries = reinterpret_cast<float*>(costs);
  const TunerChoice choice = communicator->rules.choose(
      {static_cast<Function>(function), bytes, pipe_operations, registered}, {entries, algorithms, protocols},
      [communicator](int32_t index) { say_unavailable(*communicator, index); });
  if (choice.rule < 0) return kSuccess;
  // NCCL takes the least cost, so 0 makes it the choice; entries of -1, which it cannot do, stay as they are.
  entries[choice.algorithm * protocols + choice.protocol] = 0;
  if (choice.channels > 0) *channels = choice.channels;
  return kSuccess;
}

Result choose3(void* context, int function, size_t bytes, int pipe_operations, float** costs, int algorithms,
               int protocols, int* channels) noexcept {
  return choose(context, function, bytes, pipe_operations, costs, algorithms, protocols, -1, channels);
}

Result choose_chunk(void* context, int function, size_t bytes, int algorithm, int protocol, int,
                    size_t* chunk) noexcept {
  const auto* const communicator = static_cast<const Communicator*>(context);
  if (communicator == nullptr || function < 0 || function >= kFunctions) return kSuccess;
  *chunk = communicator->rules.chunk_bytes(static_cast<Function>(function), bytes, algorithm, protocol, *chunk);
  return kSuccess;
}

Result init3(size_t ranks, size_t nodes, Logger log, void** context) noexcept {
  process.open(context, {.nodes = static_cast<int64_t>(nodes), .ranks = static_cast<int64_t>(ranks)}, log, nullptr);
  return kSuccess;
}

Result init5(void** context, uint64_t, size_t ranks, size_t nodes, Logger log, DomainInfo* domains,
             Constants* constants) noexcept {
  TunerShape shape{.nodes = static_cast<int64_t>(nodes), .ranks = static_cast<int64_t>(ranks)};
  if (domains != nullptr) {
    shape.domains = domains->domains;
    shape.least_domain_ranks = domains->least_ranks;
    shape.most_domain_ranks = domains->most_ranks;
  }
  process.open(context, shape, log, constants);
  return kSuccess;
}

Result finalize(void* context) noexcept {
  process.close(static_cast<const Communicator*>(context));
  return kSuccess;
}

}  // namespace
}  // namespace hocket::nccl

#define HOCKET_EXPORT extern "C" __attribute__((visibility("default")))
using namespace hocket::nccl;
/// The symbols that NCCL looks for, newest first: version 3 by 2.22, 4 by 2.24 to 2.27, 5 by 2.28 and 2.29, 6
/// since 2.30.
HOCKET_EXPORT const Tuner3 ncclTunerPlugin_v3 = {"hocket", init3, choose3, finalize};
HOCKET_EXPORT const Tuner4 ncclTunerPlugin_v4 = {"hocket", init3, choose, finalize};
HOCKET_EXPORT const Tuner5 ncclTunerPlugin_v5 = {"hocket", init5, choose, finalize};
HOCKET_EXPORT const Tuner6 ncclTunerPlugin_v6 = {{"hocket", init5, choose, finalize}, choose_chunk};
