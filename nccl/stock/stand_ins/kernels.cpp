// NCCL's kernels on the host: a launch's plan, as NCCL's host code wrote it, is recorded and, where asked for, carried
// out, so that data really move. HOCKET_PLANS names the file of plans; HOCKET_KERNELS is `move` or `count`.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "collectives.hpp"
#include "comm.h"  // NCCL's
#include "nccl.h"

namespace hocket::stand_in {
namespace {

using KernelComm = std::remove_pointer_t<decltype(ncclDevKernelArgs::comm)>;

/** A communicator as kernels see it: its channels lie right behind it. */
struct CommAndChannels {
  KernelComm comm;
  ncclDevChannel channels[MAXCHANNELS];
};

bool moves_data() {
  static const bool value = [] {
    const char* wanted = getenv("HOCKET_KERNELS");
    return wanted && strcmp(wanted, "move") == 0;
  }();
  return value;
}

struct Function {
  int function, operation, type, algorithm, protocol;
};

bool known(int function, int algorithm) {
  bool ring = algorithm == NCCL_ALGO_RING;
  if (function == ncclFuncAllReduce) return algorithm != NCCL_ALGO_PAT;
  if (function == ncclFuncAllGather || function == ncclFuncReduceScatter)
    return ring || algorithm == NCCL_ALGO_COLLNET_DIRECT || algorithm == NCCL_ALGO_NVLS || algorithm == NCCL_ALGO_PAT;
  return ring;
}

/** What each number that works carry stands for: NCCL only has the way there. */
const std::map<int, Function>& functions() {
  static const auto* all = [] {
    auto* found = new std::map<int, Function>;
    for (int function = 0; function < ncclFuncSendRecv; function++)
      for (int operation = 0; operation < ncclNumDevRedOps; operation++)
        for (int type = ncclNumTypes - 1; type >= 0; type--)
          for (int algorithm = 0; algorithm < NCCL_NUM_ALGORITHMS; algorithm++)
            for (int protocol = 0; protocol < NCCL_NUM_PROTOCOLS; protocol++)
              if (known(function, algorithm))
                found->emplace(ncclDevFuncId(function, operation, type, algorithm, protocol),
                               Function{function, operation, type, algorithm, protocol});
    found->erase(-1);
    return found;
  }();
  return *all;
}

FILE* plans_file() {
  static FILE* file = [] {
    const char* path = getenv("HOCKET_PLANS");
    FILE* opened = path ? fopen(path, "a") : nullptr;
    if (opened) setvbuf(opened, nullptr, _IOLBF, 0);
    return opened;
  }();
  return file;
}

/** One channel of a launch: its batches of works, in order. */
class Block {
 public:
  Block(const ncclDevKernelArgs* arguments, int block, int channel)
      : arguments_(arguments), block_(block), channel_(channel) {
    auto* comm = reinterpret_cast<CommAndChannels*>(arguments->comm);
    comm_ = &comm->comm;
    device_channel_ = &comm->channels[channel];
  }

  template <typename Batch>
  void each_batch(const Batch& visit) {
    const auto* batches = reinterpret_cast<const ncclDevWorkBatch*>(arguments_ + 1);
    int at = block_;
    while (true) {
      std::vector<char*> works;
      const ncclDevWorkBatch* batch = &batches[at];
      while (true) {
        for (int bit = 0; bit < 64; bit++)
          if (batch->offsetBitset >> bit & 1) works.push_back(work_at(*batch, bit));
        if (!batch->nextExtends) break;
        at += batch->nextJump;
        batch = &batches[at];
      }
      visit(*batch, works);
      if (batch->nextJump == 0) return;
      at += batch->nextJump;
    }
  }

  KernelComm* comm() const { return comm_; }
  ncclDevChannel* device_channel() const { return device_channel_; }
  int channel() const { return channel_; }

 private:
  char* work_at(const ncclDevWorkBatch& batch, int bit) const {
    size_t bytes = ncclDevWorkSize(static_cast<ncclDevWorkType>(batch.workType));
    size_t offset = batch.offsetBase + bit * bytes;
    if (arguments_->workStorageType == ncclDevWorkStorageTypeArgs)
      return reinterpret_cast<char*>(const_cast<ncclDevKernelArgs*>(arguments_)) + offset;
    return static_cast<char*>(arguments_->workBuf) + (offset & arguments_->workMask);
  }

  const ncclDevKernelArgs* arguments_;
  int block_, channel_;
  KernelComm* comm_;
  ncclDevChannel* device_channel_;
};

uint64_t global_timer() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/** NCCL's proxy thread reads these counters for its profiler's kernel events; without them it waits for ever. */
void count_works(Block& block, size_t works, bool started) {
  auto* channel = block.device_channel();
  auto* counters = started ? block.comm()->workStarted : block.comm()->workCompleted;
  for (size_t i = 1; i <= works; i++) {
    uint64_t number = channel->workCounter + i;
    auto& slot = counters[block.channel()].data[number % MAX_PROFILER_EVENTS_PER_CHANNEL];
    __atomic_store_n(&slot.timestamp, global_timer(), __ATOMIC_RELEASE);
    __atomic_store_n(&slot.counter, number, __ATOMIC_RELEASE);
  }
  if (!started) channel->workCounter += works;
}

void run_send(Fibers& fibers, Block& block, ncclDevWorkP2p work, bool sends) {
  size_t total = sends ? work.sendBytes : work.recvBytes;
  int parts = sends ? work.nSendChannels : work.nRecvChannels;
  int part = ncclP2pChannelToPart(work.nP2pChannels, work.channelBase, block.channel());
  if (part >= parts) return;
  size_t from = 0, to = 0;
  ncclP2pPartBounds(parts, part, total, &from, &to);
  int peer = sends ? work.sendRank : work.recvRank;
  char* address = static_cast<char*>(sends ? work.sendAddr : work.recvAddr) + from;
  if (peer == block.comm()->rank) {
    if (sends) memcpy(static_cast<char*>(work.recvAddr) + from, address, to - from);
    return;
  }
  bool low_latency = sends ? work.sendProtoLL : work.recvProtoLL;
  auto chunk = static_cast<size_t>(u32fp8Decode(sends ? work.sendChunkSize_u32fp8 : work.recvChunkSize_u32fp8));
  std::vector<int> none, one = {peer};
  Pipe pipe(fibers, *block.device_channel(), block.comm()->buffSizes, {low_latency ? NCCL_PROTO_LL : NCCL_PROTO_SIMPLE},
            {ncclDevSum, ncclInt8, 0}, 1, sends ? none : one, sends ? one : none, 1, 1, address, address,
            block.comm()->p2pChunkSize);
  size_t done = 0;
  do {
    size_t now = std::min(chunk, to - from - done);
    pipe.chunk(!sends, sends, sends ? Pipe::kInput : Pipe::kNone, done, sends ? Pipe::kNone : Pipe::kOutput, done, now);
    done += now;
  } while (done < to - from && !fibers.aborted());
}

Work work_of(Fibers& fibers, Block& block, const Function& what, ncclDevWorkColl* coll) {
  KernelComm* comm = block.comm();
  bool bytewise = what.function == ncclFuncAllGather || what.function == ncclFuncBroadcast;
  auto type = bytewise ? ncclInt8 : static_cast<ncclDataType_t>(what.type);
  Reduction reduction{static_cast<ncclDevRedOp_t>(what.operation), type, coll->redOpArg};
  if (coll->redOpArgIsPtr) memcpy(&reduction.argument, reinterpret_cast<void*>(coll->redOpArg), ncclTypeSize(type));
  return {fibers,
          *block.device_channel(),
          comm->buffSizes,
          comm->rank,
          comm->nRanks,
          block.channel(),
          coll,
          what.function,
          what.algorithm,
          what.protocol,
          reduction,
          static_cast<size_t>(ncclTypeSize(type))};
}

/** The works of a batch in order; sends and receives all at once, as some wait for others. */
void run_batch(Fibers& fibers, Block& block, const ncclDevWorkBatch& batch, const std::vector<char*>& works) {
  if (batch.workType == ncclDevWorkTypeP2p) {
    Team team(fibers);
    for (char* work : works) {
      auto p2p = *reinterpret_cast<ncclDevWorkP2p*>(work);
      for (bool sends : {true, false}) team.add([&fibers, &block, p2p, sends] { run_send(fibers, block, p2p, sends); });
    }
    return;
  }
  auto what = functions().find(batch.funcId);
  if (what == functions().end()) {
    fprintf(stderr,
            "hocket: NCCL launched function %d, which the stand-in kernels lack (broadcasts of a group are one: "
            "NCCL_ALLGATHERV_ENABLE=0)\n",
            batch.funcId);
    _Exit(3);
  }
  for (char* work : works)
    run_collective(work_of(fibers, block, what->second, reinterpret_cast<ncclDevWorkColl*>(work)));
}

// What runs now, for who asks where a run stands.
std::mutex running_lock;
std::map<const Fibers*, int> running;
std::mutex plans_lock;

void write_collective(std::string& line, const Function& what, const ncclDevWorkColl& coll) {
  char text[320];
  snprintf(text, sizeof text,
           R"({"function":%d,"operation":%d,"type":%d,"algorithm":%d,"protocol":%d,"channels":[%d,%d],"warps":%d,)"
           R"("registered":%s,"chunk_grains":[%llu,%llu,%llu]})",
           what.function, what.operation, what.type, what.algorithm, what.protocol, static_cast<int>(coll.channelLo),
           static_cast<int>(coll.channelHi), static_cast<int>(coll.nWarps),
           coll.regUsed || coll.netRegUsed ? "true" : "false", static_cast<unsigned long long>(coll.cbd.chunkGrainsLo),
           static_cast<unsigned long long>(coll.cbd.chunkGrainsMid),
           static_cast<unsigned long long>(coll.cbd.chunkGrainsHi));
  line += text;
}

void write_message(std::string& line, const ncclDevWorkP2p& work) {
  char text[320];
  snprintf(text, sizeof text,
           R"({"to":%d,"send_bytes":%zu,"send_channels":%d,"send_ll":%d,"from":%d,"receive_bytes":%zu,)"
           R"("receive_channels":%d,"receive_ll":%d,"channel_base":%d})",
           work.sendRank, work.sendBytes, work.nSendChannels, work.sendProtoLL, work.recvRank, work.recvBytes,
           work.nRecvChannels, work.recvProtoLL, work.channelBase);
  line += text;
}

/** One line a launch: the rank, its channels, and each work once. */
void record_plan(std::vector<Block>& blocks, const HocketLaunch& launch, uint64_t channel_mask) {
  FILE* file = plans_file();
  if (!file) return;
  std::string works;
  std::set<const char*> seen;
  for (Block& block : blocks)
    block.each_batch([&](const ncclDevWorkBatch& batch, const std::vector<char*>& batch_works) {
      for (const char* work : batch_works) {
        if (!seen.insert(work).second) continue;
        if (!works.empty()) works += ",";
        auto what = functions().find(batch.funcId);
        if (batch.workType == ncclDevWorkTypeP2p)
          write_message(works, *reinterpret_cast<const ncclDevWorkP2p*>(work));
        else if (what != functions().end())
          write_collective(works, what->second, *reinterpret_cast<const ncclDevWorkColl*>(work));
        else
          works += R"({"unknown_function":)" + std::to_string(batch.funcId) + "}";
      }
    });
  std::lock_guard<std::mutex> held(plans_lock);
  fprintf(file,
          R"({"step":%ld,"rank":%d,"ranks":%d,"channel_mask":%llu,"threads":%u,"works":[%s]})"
          "\n",
          launch.step, blocks[0].comm()->rank, blocks[0].comm()->nRanks, static_cast<unsigned long long>(channel_mask),
          launch.threads, works.c_str());
}

bool is_ours(const void* symbol) {
  for (int i = 0; i < ncclDevKernelCount; i++)
    if (ncclDevKernelList[i] == symbol) return true;
  return false;
}

void run_kernel(const HocketLaunch& launch) {
  if (!is_ours(launch.symbol)) {
    if (!moves_data()) return;
    fprintf(stderr, "hocket: NCCL launched a kernel of symmetric memory, which moves no data here\n");
    _Exit(3);
  }
  auto* arguments = static_cast<const ncclDevKernelArgs*>(launch.arguments);
  std::vector<Block> blocks;
  for (int channel = 0, block = 0; channel < MAXCHANNELS; channel++)
    if (arguments->channelMask >> channel & 1) blocks.emplace_back(arguments, block++, channel);
  record_plan(blocks, launch, arguments->channelMask);
  Fibers fibers;
  for (Block& block : blocks)
    fibers.add([&fibers, &block] {
      block.each_batch([&](const ncclDevWorkBatch& batch, const std::vector<char*>& works) {
        count_works(block, works.size(), true);
        if (moves_data()) run_batch(fibers, block, batch, works);
        count_works(block, works.size(), false);
      });
    });
  {
    std::lock_guard<std::mutex> held(running_lock);
    running[&fibers] = blocks[0].comm()->rank;
  }
  fibers.run(blocks[0].comm()->abortFlag);
  std::lock_guard<std::mutex> held(running_lock);
  running.erase(&fibers);
}

const bool kRegistered = (hocketRunKernelsBy(run_kernel), true);

}  // namespace
}  // namespace hocket::stand_in

/** Says what the kernels that run now wait for, one line a rank. */
extern "C" __attribute__((visibility("default"))) void hocketTellWaiting() {
  using namespace hocket::stand_in;
  std::lock_guard<std::mutex> held(running_lock);
  for (const auto& [fibers, rank] : running) {
    std::string parts;
    fibers->tell([&](const Fibers::Waiting& waits) {
      if (parts.size() < 400)
        parts += std::string(parts.empty() ? "" : ", ") + waits.what + " rank " + std::to_string(waits.peer) +
                 " at step " + std::to_string(waits.step);
    });
    fprintf(stderr, "hocket: rank %d runs a kernel that waits for %s\n", rank,
            parts.empty() ? "nothing" : parts.c_str());
  }
}

/** Of one rank alone: NCCL compiles it for the GPU. */
ncclResult_t ncclLaunchOneRank(void* to, const void* from, size_t count, struct ncclDevRedOpFull operation,
                               ncclDataType_t type, cudaStream_t stream) {
  using namespace hocket::stand_in;
  Reduction reduction{operation.op, type, operation.scalarArg};
  size_t bytes = count * ncclTypeSize(type);
  enqueue(stream, [=] {
    if (to != from) memmove(to, from, bytes);
    before_reduction(reduction, to, count);
  });
  return ncclSuccess;
}
