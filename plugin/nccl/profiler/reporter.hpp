/// The thread that writes the metrics now and then, and what is written when the job ends.
#pragma once
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "settings.hpp"
#include "totals.hpp"

namespace hocket::nccl {

class Reporter {
 public:
  /// Writes `stem`.prom and `stem`.txt, as the settings ask.
  Reporter(const Settings& settings, const std::string& stem, const Totals& totals, const FileHeader& header);

  /// Begins to write every so many seconds, if asked. Throws std::runtime_error where no thread can be had.
  void start();
  /// Ends that, and writes all that was asked for. To be called once more before it is destroyed.
  void stop();

 private:
  /// Whole or as before: written beside, then renamed.
  template <class Write>
  void write_file(const std::string& path, Write write) const;
  void write_metrics() const;
  void run();

  const Settings& settings_;
  const std::string metrics_path_, table_path_;
  const Totals& totals_;
  const FileHeader& header_;
  std::mutex mutex_;
  std::condition_variable ending_;
  bool end_ = false;
  std::thread thread_;
};

}  // namespace hocket::nccl
