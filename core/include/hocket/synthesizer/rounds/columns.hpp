#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "hocket/synthesizer/network.hpp"
#include "hocket/synthesizer/rounds/sink.hpp"

namespace hocket::synthesizer {

/// Keeps the picks in memory, as columns.
class RoundColumns : public RoundSink {
 public:
  explicit RoundColumns(const RoundTimes& times) : times_(times) {}

  void take(int64_t round, std::span<const int32_t> links, std::span<const int32_t> chunks) override {
    for (size_t at = 0; at < links.size(); at++) {
      transfers_.add(chunks[at], links[at], times_.start(round), times_.finish(round));
    }
  }

  /// What came, sorted by start and then by link; afterwards nothing is left here.
  Transfers release() { return std::exchange(transfers_, {}); }

 private:
  RoundTimes times_;
  Transfers transfers_;
};

}  // namespace hocket::synthesizer
