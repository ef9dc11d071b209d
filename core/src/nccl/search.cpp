#include "hocket/nccl/search.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "channels.hpp"

namespace hocket::nccl {
namespace {

// GB/s that a channel may have, inside one machine and to others, by the compute capability from which they hold.
// speedArrayIntra, speedArrayInter and those of sm90 and sm100. Until channels are doubled, each has one of these
// speeds and no other.
constexpr float kIntra[] = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
constexpr float kInter[] = {48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4f, 1.2f, .24f, .12f};
constexpr float kIntra90[] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
constexpr float kInter90[] = {48, 45, 42, 40, 30, 24, 22, 20, 17.5f, 15, 12, 6, 3, 2.4f, 1.2f, .24f, .12f};
constexpr float kIntra100[] = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
constexpr float kInter100[] = {96, 86,    80, 48, 45.1f, 42, 40,   30,   24,   22,
                               20, 17.5f, 15, 12, 6,     3,  2.4f, 1.2f, .24f, .12f};

// NCCL_SEARCH_GLOBAL_TIMEOUT, NCCL_SEARCH_TIMEOUT and that of channels all alike: visits of the depth-first search,
// which NCCL chose to stay within a second.
constexpr int64_t kStepsInAll = 1 << 19;
constexpr int64_t kSteps = 1 << 14;
constexpr int64_t kStepsSameChannels = 1 << 8;
// NCCL_MAX_NVLS_ARITY, and NCCL_MAX_DIRECT_ARITY + 1.
constexpr int32_t kMostNvlsHeads = 32;
constexpr int32_t kMostCollNetHeads = 8;

std::vector<float> speeds_of(int32_t sm, bool inter, int32_t release) {
  const auto all = [](std::span<const float> speeds) { return std::vector<float>(speeds.begin(), speeds.end()); };
  if (sm < 90) return inter ? all(kInter) : all(kIntra);
  if (sm < 100) return inter ? all(kInter90) : all(kIntra90);
  std::vector<float> speeds = inter ? all(kInter100) : all(kIntra100);
  // Those of Blackwell came one by one.
  if (inter && release < 2706) std::erase(speeds, 96.f);
  if (inter && release < 2907) std::erase(speeds, 80.f);
  if (inter && release < 3000) std::erase(speeds, 86.f);
  if (!inter && release < 2900) std::erase(speeds, 45.f);
  return speeds;
}

struct Range {
  int32_t nearest = kSys;
  int32_t farthest = kLoc;
};

/// PathTypes from the GPUs to all of a type but themselves.
/// ncclTopoGetGpuMinPath and ncclTopoGetGpuMaxPath; without another node of the type the range stays as it begins.
Range path_types(const System& system, NodeType to) {
  Range range;
  for (int32_t gpu = 0; gpu < system.count(kGpu); gpu++) {
    for (int32_t other = 0; other < system.count(to); other++) {
      if (to == kGpu && other == gpu) continue;
      const PathType type = system.path(kGpu, gpu, to, other).type;
      range.nearest = std::min<int32_t>(range.nearest, type);
      range.farthest = std::max<int32_t>(range.farthest, type);
    }
  }
  return range;
}

/// Two groups of GPUs with NVLink in each and something slower between.
/// As ncclTopoSplitNvLink: a GPU takes the group of the last of those before it that it shares NVLink with, which is
/// the whole group only where NVLink joins all of its pairs.
bool is_split(const System& system) {
  const int32_t gpus = system.count(kGpu);
  std::vector<int32_t> group(gpus), size(gpus, 0);
  for (int32_t gpu = 0; gpu < gpus; gpu++) group[gpu] = gpu;
  for (int32_t gpu = 0; gpu < gpus; gpu++) {
    for (int32_t peer = gpu + 1; peer < gpus; peer++) {
      if (system.path(kGpu, gpu, kGpu, peer).type == kNvl) group[peer] = group[gpu];
    }
  }
  for (const int32_t of : group) size[of]++;
  return std::ranges::count_if(size, [](int32_t gpus_in) { return gpus_in > 1; }) == 2;
}

/// Twice as many channels of half the speed, where one of them is too fast for a GPU's multiprocessor.
/// ncclTopoDupChannels. A channel is a block of the kernel, and so one multiprocessor, which does not keep 25 GB/s and
/// more busy; past sm 80 only where channels are few or very fast.
void double_channels(Graph& graph, int32_t sm, int32_t gpus) {
  if (graph.channels == 0 || graph.pattern == kNvlsPattern || graph.intra < 25) return;
  if (sm > 80 && graph.intra < 50 && graph.channels > 4) return;
  const int32_t before = graph.channels, after = std::min(2 * before, graph.max_channels);
  for (int32_t channel = before; channel < after; channel++) {
    std::copy_n(&graph.gpus[(channel - before) * gpus], gpus, &graph.gpus[channel * gpus]);
    std::copy_n(&graph.nets[(channel - before) * 2], 2, &graph.nets[channel * 2]);
  }
  const auto times = static_cast<float>((after + before - 1) / before);
  graph.intra /= times;
  graph.inter /= times;
  graph.channels = after;
}

// ncclTopoCompute, which is one function with `goto search`: `relax` and `quicken` are the questions that it asks
// between two searches. Invariants: `best_` is the best solution of all attempts so far; `attempt_` is what the next
// one must fulfil; a search writes into `best_` only what is better. Each attempt either ends it or moves `attempt_`
// one step down a fixed list, so there are at most (2 for same channels) x (pattern) x (types inside) x (types between)
// x (crossing) x (speeds) of them, each of at most kSteps visits, and the sum of all is limited.
class Relaxation {
 public:
  Relaxation(System& system, const Settings& settings, Graph wanted, const Graph* given)
      : system_(system), channels_(system, settings), best_(std::move(wanted)), given_(given) {
    sm_ = system.nodes[system.of[kDevice][0]].sm;
    for (const int32_t device : system.of[kDevice]) sm_ = std::min(sm_, system.nodes[device].sm);
    const bool may_cross =
        best_.pattern == kRingPattern || best_.pattern == kBalancedTree || best_.pattern == kSplitTree;
    cross_nic_ = system.count(kNet) > 1 && may_cross ? settings.cross_nic : 0;
    release_ = settings.release;
    speeds_ = speeds_of(sm_, system.inter, release_);
  }

  // Pass one looks for any solution at the highest speed; pass two, from that solution on, for the same number of
  // channels at higher speeds, as long as it finds them and has steps left.
  Graph search() {
    if (!begin()) return best_;
    attempt_ = best_;
    start_speed();
    run();
    while (!is_perfect() && relax()) run();
    double_channels(best_, sm_, system_.count(kGpu));
    attempt_ = best_;
    // NCCL starts the second pass at the speed of the solution after it was doubled; `left_` -1 stands for "not out of
    // steps".
    for (speed_ = 0; speeds_[speed_] > best_.inter && speed_ + 1 < speeds_.size();) speed_++;
    attempt_.intra = attempt_.inter = speeds_[speed_];
    attempt_.min_channels = best_.channels;
    left_ = -1;
    while (quicken()) run();
    if (best_.channels == 0 && best_.pattern != kNvlsPattern && !best_.collnet) fall_back();
    return best_;
  }

 private:
  /// What all attempts have in common. Returns whether there is anything to search.
  /// What a machine cannot have is not asked for: the nearest type of its paths is where relaxing starts, the farthest
  /// where it ends.
  bool begin() {
    const int32_t gpus = system_.count(kGpu);
    nearest_intra_ = kLoc;
    nearest_inter_ = kPix;
    farthest_intra_ = farthest_inter_ = kSys;
    if (gpus > 1) {
      const Range range = path_types(system_, kGpu);
      nearest_intra_ = range.nearest;
      farthest_intra_ = range.farthest;
    }
    if (system_.inter) {
      const Range range = path_types(system_, kNet);
      nearest_inter_ = range.nearest;
      farthest_inter_ = farthest_intra_ = range.farthest;
    }
    // Balanced trees on Ampere sometimes come back through the CPUs; from 2.29 on.
    if (sm_ < 90 && release_ >= 2900) farthest_inter_ = kSys;
    best_.cross_nic = cross_nic_ == 1 ? 1 : 0;
    best_.type_intra = nearest_intra_;
    best_.type_inter = nearest_inter_;
    same_channels_ = best_.same_channels = best_.pattern != kNvlsPattern;
    if (given_ != nullptr) {
      take_given();
      if (best_.channels > 0) return false;
    }
    if (best_.pattern == kNvlsPattern) {
      if (system_.count(kNvSwitch) == 0 || sm_ < 90) return false;
      best_.max_channels = std::min(kMostNvlsHeads, gpus);
    }
    if (best_.pattern == kCollNetPattern) best_.max_channels = std::min(kMostCollNetHeads, gpus);
    if (gpus == 1 && best_.pattern != kRingPattern) best_.pattern = kPlainTree;
    // In one machine all GPUs are heads.
    if (!system_.inter && best_.pattern == kNvlsPattern) best_.min_channels = best_.max_channels;
    const bool ring_needs_two = best_.pattern == kRingPattern && best_.max_channels >= 2 && best_.min_channels == 1;
    if (ring_needs_two && is_split(system_)) best_.min_channels = 2;
    return true;
  }

  // ncclTopoGetGraphFromXml overwrites what the file says and leaves the rest, also where it holds no channel of this
  // graph: then its types and pattern are where the search starts.
  void take_given() {
    Graph given = *given_;
    given.collnet = best_.collnet;
    given.min_channels = best_.min_channels;
    given.max_channels = best_.max_channels;
    best_ = std::move(given);
  }

  // No channel is faster than the fastest path, nor all of them together faster than a GPU. A tree's traffic leaves a
  // GPU once and does not return, which NCCL counts by making the GPU (devices / (devices - 1)) times faster.
  void start_speed() {
    const auto devices = static_cast<float>(system_.count(kDevice));
    float total = system_.total_bandwidth;
    // Other patterns than rings do not come back to where they began.
    if (devices > 1 && best_.pattern != kRingPattern) {
      // In double and back, as NCCL's `*=` of a float by a double does.
      total = static_cast<float>(total * (devices * 1.0 / (devices - 1)));
    }
    const auto least = static_cast<float>(attempt_.min_channels);
    speed_ = 0;
    while ((speeds_[speed_] > system_.max_bandwidth || speeds_[speed_] * least > total) &&
           speed_ + 1 < speeds_.size()) {
      speed_++;
    }
    attempt_.intra = attempt_.inter = speeds_[speed_];
  }

  // Steps not used come back in `relax`, as in NCCL; a search of like channels has few, for it can only repeat.
  void run() {
    const int64_t steps = attempt_.same_channels ? kStepsSameChannels : kSteps;
    left_in_all_ -= steps;
    left_ = channels_.run(attempt_, best_, steps);
  }

  bool is_perfect() const {
    return left_ == -1 || static_cast<float>(best_.channels) * best_.inter >= system_.total_bandwidth;
  }

  bool found() const { return best_.channels > 0; }

  /// Asks for less. Returns whether there is another attempt to make.
  /// The order is ncclTopoCompute's: unlike channels, a simpler tree, farther paths inside, then between, crossing of
  /// NICs, at last the next lower speed; after each that does not help the ones before are tried again from the start.
  bool relax() {
    const Node& cpu = system_.node(kCpu, 0);
    // NCCL's exception: through several of AMD's CPUs all channels stay alike.
    const bool over_amd = cpu.arch == Arch::kX86 && cpu.vendor == Vendor::kAmd && attempt_.type_intra == kSys;
    if (attempt_.same_channels && !over_amd) {
      attempt_.same_channels = false;
      return true;
    }
    attempt_.same_channels = same_channels_;
    // `left_` is never -1 here: `is_perfect` ended the loop.
    left_in_all_ += left_;
    if (left_in_all_ < 0 && found()) return false;
    if (sm_ >= 90 && attempt_.pattern == kBalancedTree) {
      attempt_.pattern = kPlainTree;
      return true;
    }
    attempt_.pattern = best_.pattern;
    // In a job on several machines no farther inside than to the network.
    const int32_t farthest = system_.inter ? attempt_.type_inter : farthest_intra_;
    if (attempt_.type_intra < farthest && (!found() || attempt_.type_intra < best_.type_intra)) {
      attempt_.type_intra++;
      if (attempt_.type_intra < kDisconnected) return true;
    }
    attempt_.type_intra = nearest_intra_;
    if (system_.inter && attempt_.type_inter < farthest_inter_ &&
        (!found() || attempt_.type_inter < best_.type_inter || attempt_.type_inter < kPxn)) {
      attempt_.type_inter++;
      if (attempt_.type_inter < kDisconnected) return true;
    }
    attempt_.type_inter = nearest_inter_;
    if (cross_nic_ == 2 && attempt_.cross_nic == 0 &&
        (best_.pattern == kRingPattern || best_.pattern == kBalancedTree)) {
      attempt_.cross_nic = 2;
      return true;
    }
    attempt_.cross_nic = cross_nic_ == 1 ? 1 : 0;
    // NCCL compares with a double: .49 of a float is another number.
    // Below half the speed of what was found more than twice as many channels would be needed to be better.
    if (speed_ + 1 < speeds_.size() && (!found() || speeds_[speed_ + 1] / best_.inter > .49)) {
      attempt_.intra = attempt_.inter = speeds_[++speed_];
      return true;
    }
    return false;
  }

  /// Asks for more speed of as many channels. Returns whether there is another attempt to make.
  /// Rings at both speeds at once; NVLS to the network at up to twice the speed inside; trees inside at up to twice
  /// that to the network, which counts where the model takes the speed inside (`bus_bandwidth`: two machines, CollNet).
  /// All but rings stop at the first attempt that brings nothing.
  bool quicken() {
    if (left_ == 0 || speed_ == 0) return false;
    if (best_.pattern == kRingPattern) {
      attempt_.intra = attempt_.inter = speeds_[--speed_];
      return true;
    }
    if (best_.pattern == kNvlsPattern && attempt_.inter == best_.inter && attempt_.inter < attempt_.intra * 2) {
      attempt_.min_channels = attempt_.max_channels = best_.channels;
      attempt_.inter = speeds_[--speed_];
      return true;
    }
    if (attempt_.intra == best_.intra && attempt_.intra < attempt_.inter * 2) {
      attempt_.intra = speeds_[--speed_];
      return true;
    }
    return false;
  }

  /// The GPUs in the order of the file, as slow as can be.
  /// NCCL's "falling back to simple order", which keeps a job running at .1 GB/s rather than failing it.
  void fall_back() {
    best_.gpus.resize(static_cast<size_t>(system_.count(kGpu)));
    best_.nets.assign(2, -1);
    for (int32_t gpu = 0; gpu < system_.count(kGpu); gpu++) best_.gpus[gpu] = gpu;
    best_.intra = .1f;
    best_.type_intra = kSys;
    if (release_ < 2900) {
      best_.nets.assign(2, 0);
      best_.inter = .1f;
      best_.type_inter = kSys;
    } else if (system_.count(kNet) > 0) {
      best_.nets = {channels_.choose_nets(-1, 0)[0], channels_.choose_nets(-1, system_.count(kGpu) - 1)[0]};
      best_.inter = .1f;
      best_.type_inter = kSys;
    } else {
      best_.inter = 0;
      best_.type_inter = kDisconnected;
    }
    best_.channels = 1;
  }

  System& system_;
  ChannelSearch channels_;
  Graph best_;
  const Graph* given_;
  Graph attempt_;
  bool same_channels_ = true;
  int32_t release_ = 0;
  std::vector<float> speeds_;
  size_t speed_ = 0;
  int32_t sm_ = 0;
  int32_t cross_nic_ = 0;
  int32_t nearest_intra_ = kLoc, farthest_intra_ = kSys;
  int32_t nearest_inter_ = kPix, farthest_inter_ = kSys;
  int64_t left_ = 0;
  int64_t left_in_all_ = kStepsInAll;
};

}  // namespace

// A file made with crossing NICs is not used where NCCL_CROSS_NIC=0 forbids them.
Graph search(System& system, const Settings& settings, Graph wanted, const Graph* given) {
  wanted.intra = wanted.inter = wanted.latency = 0;
  wanted.channels = 0;
  if (given != nullptr && settings.cross_nic == 0 && given->cross_nic == 1) given = nullptr;
  return Relaxation(system, settings, std::move(wanted), given).search();
}

}  // namespace hocket::nccl
