#include "reporter.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>

namespace hocket::nccl {

Reporter::Reporter(const Settings& settings, const std::string& stem, const Totals& totals, const FileHeader& header)
    : settings_(settings),
      metrics_path_(stem + ".prom"),
      table_path_(stem + ".txt"),
      totals_(totals),
      header_(header) {}

void Reporter::Start() {
  if (settings_.prometheus_s == 0 || thread_.joinable()) return;
  end_ = false;
  // The job's signals are for the job's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { Run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Reporter::Stop() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      end_ = true;
    }
    ending_.notify_all();
    thread_.join();
  }
  if (settings_.prometheus_s > 0) WriteMetrics();
  if (settings_.table) WriteFile(table_path_, [&](int file) { totals_.WriteTable(file); });
}

void Reporter::Run() {
  std::unique_lock lock(mutex_);
  while (!ending_.wait_for(lock, std::chrono::seconds(settings_.prometheus_s), [&] { return end_; })) WriteMetrics();
}

void Reporter::WriteMetrics() const {
  WriteFile(metrics_path_, [&](int file) { totals_.WriteMetrics(file, header_); });
}

template <class Write>
void Reporter::WriteFile(const std::string& path, Write write) const {
  char beside[4096];
  std::snprintf(beside, sizeof beside, "%s.part", path.c_str());
  const int file = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return;
  write(file);
  close(file);
  std::rename(beside, path.c_str());
}

}  // namespace hocket::nccl
