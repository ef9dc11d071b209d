/// Collectives done by the job's programs instead of the MPI library's own algorithms.
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "datatypes.hpp"
#include "hocket/executor/library.hpp"
#include "served_call.hpp"

namespace hocket::mpi {

/// The programs at work in this process, from MPI_Init to MPI_Finalize.
class Serving {
 public:
  /// nullptr when the launcher left no programs.
  static Serving* get() { return active_.load(std::memory_order_acquire); }

  /// Serves if HOCKET_MPI_ALGORITHMS names the launcher's folder; all ranks do so at once, after MPI_Init.
  static void start();

  /// Rank 0 leaves its counts in that folder; before MPI_Finalize.
  static void stop();

  /// The result of a call that a program served; std::nullopt, which is counted, when MPI's own algorithm must. All
  /// ranks of the communicator get the same answer.
  std::optional<int> serve(const char* op, MPI_Comm comm, const CollectiveCall& call);

  void count_stock(const char* op, const std::string& reason);

 private:
  struct Count {
    int64_t calls = 0;
    int64_t bytes = 0;
  };

  /// What serves a call; or why nothing does.
  struct Answer {
    executor::Request request{};
    std::optional<executor::Choice> choice{};
    std::string reason{};
  };

  explicit Serving(const std::string& folder);

  Member* find_member(MPI_Comm comm);
  Answer choose(const Member& member, const CollectiveCall& call) const;
  void run(const Answer& answer, Member& member, MPI_Comm comm, const CollectiveCall& call);
  void write_counts() const;

  static std::atomic<Serving*> active_;

  std::filesystem::path folder_;
  executor::Library library_;
  Datatypes datatypes_;
  int key_ = MPI_KEYVAL_INVALID;
  std::mutex mutex_;  // of all below
  std::map<int, Count> ran_;
  std::map<std::pair<std::string, std::string>, int64_t> stock_;
};

/// `Serving::count_stock` where programs are at work.
inline void count_stock(const char* op, const char* reason) {
  if (Serving* const serving = Serving::get()) serving->count_stock(op, reason);
}

}  // namespace hocket::mpi
