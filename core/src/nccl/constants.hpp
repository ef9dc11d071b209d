#pragma once

#include "hocket/nccl/settings.hpp"

// What NCCL 2.30.7 assumes of hardware besides `Constants` (src/graph/tuning.cc), which no tuner plugin changes.
namespace hocket::nccl {

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
