#include "reporter.hpp"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <system_error>

namespace hocket::nccl {

Reporter::Reporter(const Settings& settings, const std::string& stem, const Totals& totals, const FileHeader& header)
    : settings_(settings),
      metrics_path_(stem + ".prom"),
      table_path_(stem + ".txt"),
      totals_(totals),
      header_(header) {}

void Reporter::start() {
  if (settings_.prometheus_s == 0 || thread_.joinable()) return;
  end_ = false;
  std::string failure;
  // The job's signals are for the job's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    failure = error.what();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!failure.empty()) throw std::runtime_error("no thread to write metrics: " + failure);
}

void Reporter::stop() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      end_ = true;
    }
    ending_.notify_all();
    thread_.join();
  }
  if (settings_.prometheus_s > 0) write_metrics();
  if (settings_.table) write_file(table_path_, [&](std::FILE* file) { totals_.write_table(file); });
}

// Woken by time or by the end, so that a job never waits for its metrics.
void Reporter::run() {
  std::unique_lock lock(mutex_);
  while (!ending_.wait_for(lock, std::chrono::seconds(settings_.prometheus_s), [&] { return end_; })) write_metrics();
}

void Reporter::write_metrics() const {
  write_file(metrics_path_, [&](std::FILE* file) { totals_.write_metrics(file, header_); });
}

template <class Write>
void Reporter::write_file(const std::string& path, Write write) const {
  char beside[4096];
  std::snprintf(beside, sizeof beside, "%s.part", path.c_str());
  std::FILE* const file = std::fopen(beside, "we");
  if (file == nullptr) return;
  write(file);
  const bool failed = std::ferror(file) != 0;
  if (std::fclose(file) != 0 || failed) {
    unlink(beside);
  } else {
    std::rename(beside, path.c_str());
  }
}

}  // namespace hocket::nccl
