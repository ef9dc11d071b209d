#pragma once

#include <array>

#include "hocket/nccl/settings.hpp"

namespace hocket::nccl {

enum Hardware { kNvLinkHardware, kPciHardware, kNetHardware };

/// What NCCL 2.30.7 assumes of hardware (src/graph/tuning.cc): measured by NVIDIA. In the order and the types of NCCL's
/// `ncclTunerConstants_v5_t`, which a tuner plugin may write over. Latencies in us; bandwidths in GB/s, by GPU (Volta,
/// Ampere, Hopper, Blackwell) and machines (1, 2, more).
struct Constants {
  using Latencies = std::array<std::array<double, kProtocols>, kAlgorithms>;
  using Bandwidths = std::array<std::array<double, 3>, 4>;

  Latencies base_latency{{{6.8, 14, 8.4}, {6.6, 14, 8.4}, {}, {}, {}, {}, {8, 8, 8}}};
  /// Of a step, by `Hardware`.
  std::array<Latencies, 3> step_latency{{
      {{{.6, 1.25, 4}, {.6, 1.9, 3.4}, {0, 0, 3.7}, {0, 0, 2.8}, {0, 0, 25}, {0, 0, 25}, {0, 0, 4}}},
      {{{1, 1.9, 4}, {1, 2.5, 5.7}, {0, 0, 3.7}, {0, 0, 2.8}, {}, {}, {0, 0, 4}}},
      {{{5, 8.5, 14}, {2.7, 4, 14}, {0, 0, 31}, {0, 0, 30}, {0, 0, 18}, {0, 0, 20.9}, {0, 0, 14}}},
  }};
  /// Of all channels with LL; on several machines by CPU: AMD's is Ampere's row, any other's Volta's.
  Bandwidths most_ll{{{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}}};
  // Of a channel.
  Bandwidths most_ring_ll128{{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {40, 40, 40}}};
  Bandwidths most_tree_ll128{{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}};
  Bandwidths most_tree{{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};
  Bandwidths most_nvls_tree{{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}}};
};

}  // namespace hocket::nccl
