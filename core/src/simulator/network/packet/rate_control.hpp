#pragma once

#include <algorithm>
#include <cstdint>

#include "hocket/simulator/packets.hpp"
#include "hocket/time.hpp"

namespace hocket::simulator {

/// The rate of one sender under DCQCN: cut by what the network marks, raised by time and by bytes. Integers only, so
/// that rates are the same on every machine. Timers cost no events: they are caught up with when somebody asks.
class RateControl {
 public:
  RateControl() = default;
  explicit RateControl(Bandwidth line) : line_(line), rate_(line), target_(line) {}

  /// Bytes a second at which it sends from `now` on.
  Bandwidth rate(Picoseconds now, const RateSettings& settings) {
    catch_up(now, settings);
    return rate_;
  }

  bool at_line_rate() const { return rate_ == line_; }

  /// A notification of marks is there.
  void cut(Picoseconds now, const RateSettings& settings) {
    catch_up(now, settings);
    target_ = rate_;
    rate_ = std::max(least(), rate_ - static_cast<Bandwidth>(static_cast<__int128>(rate_) * alpha_ / (2 * kOne)));
    alpha_ += (kOne - alpha_) / kGain;
    since_ = now;
    timer_steps_ = counter_steps_ = 0;
    bytes_ = 0;
  }

  void sent(int64_t bytes, const RateSettings& settings) {
    if (at_line_rate()) return;
    bytes_ += bytes;
    for (; bytes_ >= settings.counter_bytes; bytes_ -= settings.counter_bytes) {
      counter_steps_++;
      raise();
    }
  }

 private:
  static constexpr int64_t kOne = int64_t{1} << 30;  // of alpha
  static constexpr int64_t kGain = 256;              // 1/g
  static constexpr int32_t kFastSteps = 5;           // F
  static constexpr int64_t kStepPart = 1000;         // R_AI: 40 Mb/s of 40 Gb/s

  Bandwidth least() const { return std::max<Bandwidth>(1, line_ / kStepPart); }

  void catch_up(Picoseconds now, const RateSettings& settings) {
    for (; now - since_ >= settings.timer_ps; since_ += settings.timer_ps) {
      // A sender that has long been at its full rate has nothing left to recover.
      if (at_line_rate() && alpha_ < kGain) {
        since_ = now;
        return;
      }
      alpha_ -= alpha_ / kGain;
      timer_steps_++;
      raise();
    }
  }

  /// Half of the way back to where it was; after some steps that goal rises.
  void raise() {
    if (std::max(timer_steps_, counter_steps_) > kFastSteps) target_ = std::min(line_, target_ + least());
    rate_ = (rate_ + target_ + 1) / 2;
  }

  Bandwidth line_ = 0, rate_ = 0, target_ = 0;
  int64_t alpha_ = kOne;
  Picoseconds since_ = 0;
  int64_t bytes_ = 0;
  int32_t timer_steps_ = 0, counter_steps_ = 0;
};

}  // namespace hocket::simulator
