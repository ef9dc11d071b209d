#pragma once

#include "hocket/nccl/settings.hpp"

// What NCCL 2.30.7 assumes of hardware (src/graph/tuning.cc): measured by NVIDIA, chosen by us nowhere.
namespace hocket::nccl {

enum Hardware { kNvLinkHardware, kPciHardware, kNetHardware };

/// us, by algorithm and protocol.
inline constexpr float kBaseLatency[kAlgorithms][kProtocols] = {{6.8f, 14, 8.4f}, {6.6f, 14, 8.4f}, {}, {}, {}, {},
                                                                {8, 8, 8}};

/// us of a step, by hardware, algorithm and protocol.
inline constexpr float kStepLatency[3][kAlgorithms][kProtocols] = {
    {{.6f, 1.25f, 4}, {.6f, 1.9f, 3.4f}, {0, 0, 3.7f}, {0, 0, 2.8f}, {0, 0, 25}, {0, 0, 25}, {0, 0, 4}},
    {{1, 1.9f, 4}, {1, 2.5f, 5.7f}, {0, 0, 3.7f}, {0, 0, 2.8f}, {}, {}, {0, 0, 4}},
    {{5, 8.5f, 14}, {2.7f, 4, 14}, {0, 0, 31}, {0, 0, 30}, {0, 0, 18}, {0, 0, 20.9f}, {0, 0, 14}},
};

// GB/s, by GPU (Volta, Ampere, Hopper, Blackwell) and machines (1, 2, more).

/// Of all channels with LL; on several machines by CPU: AMD's is Ampere's row, any other's Volta's.
inline constexpr double kMostLl[4][3] = {{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}};
// Of a channel.
inline constexpr double kMostRingLl128[4][3] = {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {40, 40, 40}};
inline constexpr double kMostTreeLl128[4][3] = {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}};
inline constexpr double kMostTree[4][3] = {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}};
inline constexpr double kMostNvlsTree[4][3] = {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}};

/// Part of NVLink's bandwidth that NVLS reaches, by GPU.
inline constexpr float kNvlsEfficiency[4] = {0, 0, .85f, .74f};

/// Part of its bandwidth that a tree reaches, by protocol and size: from 64 B by powers of two.
inline constexpr float kTreeCorrection[kProtocols][24] = {
    {1, 1, 1, 1, .9f, .8f, .7f, .7f, .7f, .7f, .6f, .5f, .4f, .4f, .5f, .6f, .7f, .8f, .9f, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9f, .8f, .8f, .8f, .7f, .6f, .6f, .6f, .6f, .6f, .6f, .8f, .9f, .9f, .9f, .9f, 1, 1, 1},
    {.9f, .9f, .9f, .9f, .9f, .9f, .9f, .8f, .7f, .6f, .6f, .5f,
     .5f, .5f, .5f, .6f, .7f, .8f, .7f, .7f, .8f, .9f, .9f, .9f},
};

}  // namespace hocket::nccl
