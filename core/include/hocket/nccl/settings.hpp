#pragma once

#include <array>
#include <cstdint>

namespace hocket::nccl {

/// In the order of NCCL's tables (src/include/nccl_common.h of 2.30).
enum Function : int32_t { kBroadcast, kReduce, kAllGather, kReduceScatter, kAllReduce, kFunctions };
enum Algorithm : int32_t { kTree, kRing, kCollNetDirect, kCollNetChain, kNvls, kNvlsTree, kPat, kAlgorithms };
enum Protocol : int32_t { kLl, kLl128, kSimple, kProtocols };

inline constexpr int32_t kMostChannels = 64;
inline constexpr int32_t kUnset = -2;

/// How many of its local NICs a GPU uses (`NCCL_NETDEVS_POLICY`).
enum class NetDevices : int32_t { kShare, kAll, kAtMost };

/// The variables of NCCL's environment that the model depends on, each as NCCL reads it; `kUnset` where NCCL decides.
struct Settings {
  /// Of NCCL 2.x that reads them, whose rules hold: of 2.30.7 it is 3007.
  int32_t release = 3007;
  int32_t cross_nic = 2;           ///< NCCL_CROSS_NIC
  int32_t p2p_level = kUnset;      ///< NCCL_P2P_LEVEL, a PathType
  int32_t net_gdr_level = kUnset;  ///< NCCL_NET_GDR_LEVEL, a PathType
  int32_t net_gdr_read = kUnset;   ///< NCCL_NET_GDR_READ
  int32_t net_gdr_c2c = 1;         ///< NCCL_NET_GDR_C2C
  int32_t pxn_disable = 0;         ///< NCCL_PXN_DISABLE
  int32_t pxn_c2c = kUnset;        ///< NCCL_PXN_C2C
  int32_t nvb_disable = 0;         ///< NCCL_NVB_DISABLE
  NetDevices net_devices = NetDevices::kShare;
  int32_t most_net_devices = 0;  ///< of `kAtMost`
  int32_t min_channels = 0;      ///< NCCL_MIN_NCHANNELS
  int32_t max_channels = kMostChannels;
  int32_t min_ctas = 1;  ///< NCCL_MIN_CTAS
  int32_t max_ctas = kMostChannels;
  int32_t collnet_enable = 0;        ///< NCCL_COLLNET_ENABLE
  int32_t collnet_threshold = 2;     ///< NCCL_COLLNET_NODE_THRESHOLD
  int32_t nvls_enable = 2;           ///< NCCL_NVLS_ENABLE
  int32_t nvls_channels = kUnset;    ///< NCCL_NVLS_NCHANNELS
  int32_t pat_enable = 2;            ///< NCCL_PAT_ENABLE
  int32_t ll128_c2c = 1;             ///< NCCL_LL128_C2C
  int32_t net_overhead_ns = kUnset;  ///< NCCL_NET_OVERHEAD
  int32_t threads = kUnset;          ///< NCCL_NTHREADS
  int32_t ll128_threads = kUnset;    ///< NCCL_LL128_NTHREADS
  /// NCCL_THREAD_THRESHOLDS: of Tree, then Ring.
  std::array<std::array<int32_t, kProtocols>, 2> thread_thresholds{
      {{kUnset, kUnset, kUnset}, {kUnset, kUnset, kUnset}}};
  /// NCCL_ALGO and NCCL_PROTO: what may be chosen; of LL128 2 where NCCL decides.
  std::array<std::array<int32_t, kAlgorithms>, kFunctions> algorithms{{{1, 1, 1, 1, 1, 1, 1},
                                                                       {1, 1, 1, 1, 1, 1, 1},
                                                                       {1, 1, 1, 1, 1, 1, 1},
                                                                       {1, 1, 1, 1, 1, 1, 1},
                                                                       {1, 1, 1, 1, 1, 1, 1}}};
  std::array<std::array<int32_t, kProtocols>, kFunctions> protocols{
      {{1, 2, 1}, {1, 2, 1}, {1, 2, 1}, {1, 2, 1}, {1, 2, 1}}};
};

}  // namespace hocket::nccl
