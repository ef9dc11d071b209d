// Plays a job on NCCL or RCCL: `player JOB HOST`. JOB is lines that hocket writes (nccl/stock/job.py); HOST is which of
// its hosts this process is. What came out goes to results.HOST.jsonl beside it; where nothing moves for longer than
// the limit, it says where each rank stands and ends with 4.
#include <malloc.h>
#include <nccl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iomanip>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "checked_data.hpp"
#include "gpu_runtime.hpp"
#include "job.hpp"

extern "C" void hocketTellWaiting();
#ifdef __HIP_PLATFORM_AMD__
extern "C" ncclResult_t rcclGetAlgoInfo(ncclComm_t, int function, uint64_t count, ncclDataType_t, int collnet, int nvls,
                                        int calls, int* algorithm, int* protocol, int* channels);
#endif

using namespace hocket::player;

namespace {

std::atomic<long> progress{0};
std::atomic<long> now_at{0};
int this_host = 0;

[[noreturn]] void fail(const std::string& what) {
  fprintf(stderr, "hocket: host %d: %s\n", this_host, what.c_str());
  fflush(nullptr);
  _Exit(1);
}

void check(ncclResult_t result, const char* what) {
  if (result != ncclSuccess)
    fail(std::string(what) + " gave " + ncclGetErrorString(result) + ": " + ncclGetLastError(nullptr));
}

/** The communicators of one rank of this host. */
struct Rank {
  int global = 0, device = 0;
  GPU(Stream_t) stream = nullptr;
  char *send = nullptr, *receive = nullptr;
  std::map<std::string, Member> comms;
};

class Player {
 public:
  Player(Job job, int host, std::string folder) : job_(std::move(job)), host_(host), folder_(std::move(folder)) {
    for (int h = 0; h < static_cast<int>(job_.ranks_of_host.size()); h++) {
      if (h == host) first_ = total_;
      total_ += job_.ranks_of_host[h];
    }
    ranks_.resize(job_.ranks_of_host[host]);
  }

  void play() {
    connect();
    allocate();
    for (size_t i = 0; i < job_.steps.size(); i++) {
      now_at = static_cast<long>(i);
      hocketStep(now_at);
      do_step(job_.steps[i]);
      progress++;
      if (i % 16 == 15) printf("done %zu\n", i + 1);
    }
    synchronize();
    for (Rank& rank : ranks_)
      for (auto& [name, member] : rank.comms) {
        if (!member.comm) continue;
        GPU(SetDevice)(rank.device);
        // Where no data moved, NCCL's proxies still wait for some.
        if (moves())
          check(ncclCommDestroy(member.comm), "ncclCommDestroy");
        else
          check(ncclCommAbort(member.comm), "ncclCommAbort");
        progress++;
      }
    printf("launches %ld\n", hocketLaunches());
    if (*hocketLacking()) {
      std::stringstream names(hocketLacking());
      for (std::string name; std::getline(names, name);) printf("lacking %s\n", name.c_str());
    }
  }

 private:
  void connect() {
    ncclUniqueId id;
    std::string path = folder_ + "/unique_id";
    if (host_ == 0) {
      check(ncclGetUniqueId(&id), "ncclGetUniqueId");
      std::ofstream(path + ".part", std::ios::binary).write(reinterpret_cast<char*>(&id), sizeof id);
      rename((path + ".part").c_str(), path.c_str());
    } else {
      while (access(path.c_str(), F_OK) != 0) usleep(5000);
      std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(&id), sizeof id);
    }
    std::vector<int> all(total_);
    for (int i = 0; i < total_; i++) all[i] = i;
    check(ncclGroupStart(), "ncclGroupStart");
    for (size_t i = 0; i < ranks_.size(); i++) {
      ranks_[i].device = static_cast<int>(i);
      ranks_[i].global = first_ + static_cast<int>(i);
      ranks_[i].comms["world"] = {nullptr, all, ranks_[i].global};
      GPU(SetDevice)(ranks_[i].device);
      check(ncclCommInitRank(&ranks_[i].comms["world"].comm, total_, id, ranks_[i].global), "ncclCommInitRank");
    }
    check(ncclGroupEnd(), "initialising the communicator");
    progress++;
    printf("connected\n");
  }

  void allocate() {
    for (Rank& rank : ranks_) {
      GPU(SetDevice)(rank.device);
      GPU(StreamCreateWithFlags)(&rank.stream, GPU(StreamNonBlocking));
      size_t bytes = job_.most_bytes + 4096;
      if (GPU(Malloc)(reinterpret_cast<void**>(&rank.send), bytes) != GPU(Success) ||
          GPU(Malloc)(reinterpret_cast<void**>(&rank.receive), bytes) != GPU(Success))
        fail("no memory for buffers of " + std::to_string(bytes) + " bytes a rank");
    }
  }

  void do_step(const Step& step) {
    if (step.verb == "calls") return do_calls(step.calls);
    synchronize();
    if (step.verb == "split") return split(step);
    for (Rank& rank : ranks_) {
      auto found = rank.comms.find(step.made);
      if (found == rank.comms.end() || !found->second.comm) continue;
      GPU(SetDevice)(rank.device);
      check(step.verb == "abort" ? ncclCommAbort(found->second.comm) : ncclCommDestroy(found->second.comm),
            step.verb.c_str());
      rank.comms.erase(found);
      progress++;
    }
  }

  void split(const Step& step) {
    std::vector<ncclComm_t> made(ranks_.size(), nullptr);
    check(ncclGroupStart(), "ncclGroupStart");
    for (size_t i = 0; i < ranks_.size(); i++) {
      auto found = ranks_[i].comms.find(step.parent);
      if (found == ranks_[i].comms.end()) continue;
      GPU(SetDevice)(ranks_[i].device);
      int color = step.colors[ranks_[i].global];
      check(ncclCommSplit(found->second.comm, color < 0 ? NCCL_SPLIT_NOCOLOR : color, ranks_[i].global, &made[i],
                          nullptr),
            "ncclCommSplit");
    }
    check(ncclGroupEnd(), "splitting a communicator");
    for (size_t i = 0; i < ranks_.size(); i++) {
      if (!made[i]) continue;
      Member member{made[i], {}, 0};
      for (int other : ranks_[i].comms[step.parent].members)
        if (step.colors[other] == step.colors[ranks_[i].global]) {
          if (other == ranks_[i].global) member.rank = static_cast<int>(member.members.size());
          member.members.push_back(other);
        }
      ranks_[i].comms[step.made] = member;
    }
  }

  void do_calls(const std::vector<Call>& calls) {
    if (moves()) {
      synchronize();
      for (const Call& call : calls) fill(call);
    }
    check(ncclGroupStart(), "ncclGroupStart");
    for (const Call& call : calls)
      for (Rank& rank : ranks_) enqueue(call, rank);
    if (job_.mode == "choose") return simulate(calls[0]);
    check(ncclGroupEnd(), "enqueueing");
    if (!moves()) return;
    synchronize();
    for (const Call& call : calls)
      for (Rank& rank : ranks_) verify(call, rank);
  }

  bool moves() const { return job_.mode == "move"; }

  /** NCCL prepares the group, says what it chose, and drops it. */
  void simulate(const Call& call) {
    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
    check(ncclGroupSimulateEnd(&info), "simulating");
    results_ << R"({"step":)" << now_at << R"(,"time_us":)" << std::setprecision(9) << info.estimatedTime;
    if (host_ == 0) tell_choice(call);
    results_ << "}" << std::endl;
  }

#ifdef __HIP_PLATFORM_AMD__
  /** RCCL's log leaves out some of what it chooses; it tells when it is asked. */
  void tell_choice(const Call& call) {
    static const std::map<std::string, int> kFunctions = {
        {"broadcast", 0}, {"reduce", 1}, {"all_gather", 2}, {"reduce_scatter", 3}, {"all_reduce", 4}};
    auto function = kFunctions.find(call.kind);
    auto found = ranks_[0].comms.find(call.comm);
    if (function == kFunctions.end() || found == ranks_[0].comms.end()) return;
    GPU(SetDevice)(ranks_[0].device);
    bool shared = gathers(call) || call.kind == "reduce_scatter";
    size_t count = call.bytes / width(call.type) / (shared ? found->second.members.size() : 1);
    int algorithm = 0, protocol = 0, channels = 0;
    check(rcclGetAlgoInfo(found->second.comm, function->second, count, kTypes.at(call.type), 0, 0, 1, &algorithm,
                          &protocol, &channels),
          "rcclGetAlgoInfo");
    results_ << R"(,"algorithm":)" << algorithm << R"(,"protocol":)" << protocol << R"(,"channels":)" << channels;
  }
#else
  void tell_choice(const Call&) {}  // NCCL's log has it
#endif

  static bool gathers(const Call& call) { return call.kind == "all_gather"; }

  /** Where a call's input and output lie; in place, its input is a part of its output or the other way round. */
  static std::pair<char*, char*> buffers(const Call& call, const Rank& rank, const Member& member) {
    size_t part = call.bytes / member.members.size() / width(call.type) * width(call.type);
    char *send = rank.send + call.offset, *receive = rank.receive + call.offset;
    if (!call.in_place) return {send, receive};
    if (gathers(call)) return {receive + part * member.rank, receive};
    if (call.kind == "reduce_scatter") return {send, send + part * member.rank};
    return {receive, receive};
  }

  void enqueue(const Call& call, Rank& rank) {
    auto found = rank.comms.find(call.comm);
    if (found == rank.comms.end()) return;
    const Member& member = found->second;
    GPU(SetDevice)(rank.device);
    auto n = static_cast<int>(member.members.size());
    size_t count = call.bytes / width(call.type), part = count / n;
    auto [in, out] = buffers(call, rank, member);
    ncclDataType_t type = kTypes.at(call.type);
    ncclRedOp_t operation = kOperations.at(call.operation);
    ncclComm_t comm = member.comm;
    GPU(Stream_t) stream = rank.stream;
    const char* kind = call.kind.c_str();
    if (call.kind == "all_reduce") {
      check(ncclAllReduce(in, out, count, type, operation, comm, stream), kind);
    } else if (call.kind == "all_gather") {
      check(ncclAllGather(in, out, part, type, comm, stream), kind);
    } else if (call.kind == "reduce_scatter") {
      check(ncclReduceScatter(in, out, part, type, operation, comm, stream), kind);
    } else if (call.kind == "broadcast") {
      check(ncclBroadcast(in, out, count, type, call.root, comm, stream), kind);
    } else if (call.kind == "reduce") {
      check(ncclReduce(in, out, count, type, operation, call.root, comm, stream), kind);
    } else if (call.kind == "sendrecv") {
      check(ncclSend(in, count, type, (member.rank + 1) % n, comm, stream), kind);
      check(ncclRecv(out, count, type, (member.rank + n - 1) % n, comm, stream), kind);
    } else if (call.kind == "all_to_all") {
      size_t bytes = part * width(call.type);
      for (int peer = 0; peer < n; peer++) {
        check(ncclSend(in + peer * bytes, part, type, peer, comm, stream), kind);
        check(ncclRecv(out + peer * bytes, part, type, peer, comm, stream), kind);
      }
    } else {
      fail("no such collective: " + call.kind);
    }
  }

  void fill(const Call& call) {
    for (Rank& rank : ranks_) {
      auto found = rank.comms.find(call.comm);
      if (found == rank.comms.end()) continue;
      auto n = found->second.members.size();
      size_t count = call.bytes / width(call.type);
      if (gathers(call)) count = count / n;
      memset(rank.receive + call.offset, 0xee, call.bytes);
      char* in = buffers(call, rank, found->second).first;
      for (size_t i = 0; i < count; i++)
        write_element(in, i, call.type, element(rank.global, i, call.operation == "prod"));
    }
  }

  void verify(const Call& call, Rank& rank) {
    auto found = rank.comms.find(call.comm);
    if (found == rank.comms.end()) return;
    const Member& member = found->second;
    size_t count = call.bytes / width(call.type), part = count / member.members.size();
    if (call.kind == "reduce" && member.rank != call.root) return;
    if (call.kind == "all_gather" || call.kind == "all_to_all") count = part * member.members.size();
    if (call.kind == "reduce_scatter") count = part;
    char* out = buffers(call, rank, member).second;
    size_t wrong = 0, first = 0;
    for (size_t i = 0; i < count; i++) {
      double want = expected(call, member, i, std::max<size_t>(part, 1)), got = read_element(out, i, call.type);
      if (std::abs(want - got) <= tolerance(call) * std::max(1.0, std::abs(want))) continue;
      if (wrong++ == 0) first = i;
    }
    results_ << R"({"step":)" << now_at << R"(,"rank":)" << rank.global << R"(,"kind":")" << call.kind
             << R"(","bytes":)" << call.bytes << R"(,"checked":)" << count << R"(,"wrong":)" << wrong;
    if (wrong)
      results_ << R"(,"first":)" << first << R"(,"got":)" << read_element(out, first, call.type) << R"(,"expected":)"
               << expected(call, member, first, std::max<size_t>(part, 1));
    results_ << "}" << std::endl;
  }

  void synchronize() {
    for (Rank& rank : ranks_) {
      GPU(StreamSynchronize)(rank.stream);
      progress++;
    }
  }

  Job job_;
  int host_;
  std::string folder_;
  int first_ = 0, total_ = 0;
  std::vector<Rank> ranks_;
  std::ofstream results_{folder_ + "/results." + std::to_string(host_) + ".jsonl"};
};

void watch(int limit_s) {
  long seen = -1;
  auto since = std::chrono::steady_clock::now();
  while (true) {
    usleep(100000);
    if (long now = progress + hocketMoves(); now != seen) {
      seen = now;
      since = std::chrono::steady_clock::now();
    } else if (std::chrono::steady_clock::now() - since > std::chrono::seconds(limit_s)) {
      fprintf(stderr, "hocket: host %d: nothing moved for %d s in step %ld of the job\n", this_host, limit_s,
              now_at.load());
      hocketTellWaiting();
      fflush(nullptr);
      _Exit(4);
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    fprintf(stderr, "usage: player JOB HOST\n");
    return 2;
  }
  setvbuf(stdout, nullptr, _IOLBF, 0);
  mallopt(M_MMAP_THRESHOLD, 1 << 20);  // what is large and freed is given back, and not kept by each thread
  std::string path = arguments[1];
  this_host = atoi(arguments[2]);
  Job job;
  try {
    job = read_job(path);
  } catch (const std::runtime_error& error) {
    fail(error.what());
  }
  std::thread(watch, job.limit_s).detach();
  size_t slash = path.rfind('/');
  Player player(job, this_host, slash == std::string::npos ? "." : path.substr(0, slash));
  player.play();
  fflush(nullptr);
  _Exit(0);  // NCCL's and the streams' threads end with the process
}
