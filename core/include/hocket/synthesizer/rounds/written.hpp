#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "hocket/schedule/round_frames.hpp"
#include "hocket/synthesizer/rounds/sink.hpp"

namespace hocket::synthesizer {

/// Hands the picks on to a file.
class WrittenRounds : public RoundSink {
 public:
  /// `route_of` gives the file's number of each link, in the order of the links. `writer` must outlive this.
  WrittenRounds(schedule::RoundWriter& writer, std::vector<int32_t> route_of)
      : writer_(writer), route_of_(std::move(route_of)) {}

  void take(int64_t round, std::span<const int32_t> links, std::span<const int32_t> chunks) override {
    routes_.clear();
    for (int32_t link : links) routes_.push_back(route_of_[link]);
    writer_.take(round, routes_, chunks);
  }

 private:
  schedule::RoundWriter& writer_;
  std::vector<int32_t> route_of_, routes_;
};

}  // namespace hocket::synthesizer
