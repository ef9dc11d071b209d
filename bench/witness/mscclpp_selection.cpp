// MSCCL++'s own selection of algorithms and its plan loader, without a GPU: says which algorithm each call is given,
// whether the plan's loader takes it, and for which allocations its executor sets a plan up. Built with algorithm.cc,
// execution_plan.cc, algorithm_selector.cc, env.cpp, errors.cc and logger.cc of its sources, and with the selector cut
// out of nccl.cc (stock_selector.inc) and the key of set-ups out of executor.cc (context_key.inc, context_of_call.inc).
// Argument: the rank. Lines in: `native COLLECTIVE NAME`; `plan NAME COLLECTIVE RANKS RANKS_PER_NODE PATH`, to be
// registered, or `held ...`, to be handed out by the call's own selector; `order COLLECTIVE`; `call COLLECTIVE RANKS
// RANKS_PER_NODE INPUT OUTPUT MESSAGE_BYTES INPUT_BYTES OUTPUT_BYTES TYPE GIVEN`, where GIVEN is a held plan that the
// call's selector gives it, or `-`; `context NAME INPUT_BASE INPUT_SIZE OUTPUT_BASE OUTPUT_SIZE`, a call of a held plan
// with buffers in these allocations. A line out for each `order`, `call` and `context`.
#include <algorithm>
#include <iostream>
#include <map>
#include <mscclpp/algorithm.hpp>
#include <mscclpp/env.hpp>
#include <mscclpp/gpu_utils.hpp>
#include <sstream>

#include "algorithm_selector.hpp"
#include "collective_utils.hpp"
#include "execution_plan.hpp"
// after debug.h, whose macros of the same names it replaces
#include "debug.h"
//
#include "logger.hpp"

// What is called of CUDA and of the parts that are not built.
extern "C" CUresult cuGetErrorString(CUresult, const char** text) { return *text = "", CUDA_SUCCESS; }
extern "C" const char* cudaGetErrorString(cudaError_t) { return ""; }
void mscclppDebugLog(mscclppDebugLogLevel, unsigned long, const char*, int, const char*, ...) {}

namespace mscclpp {

namespace detail {
void* gpuCalloc(size_t) { return nullptr; }
void gpuMemcpy(void*, const void*, size_t, cudaMemcpyKind) {}
}  // namespace detail

int Bootstrap::getNranksPerIpcDomain() const { return getNranksPerNode(); }
struct Communicator::Impl {
  std::shared_ptr<Bootstrap> bootstrap;
};
Communicator::Communicator(std::shared_ptr<Bootstrap> bootstrap, std::shared_ptr<Context>)
    : pimpl_(new Impl{bootstrap}) {}
Communicator::~Communicator() = default;
std::shared_ptr<Bootstrap> Communicator::bootstrap() { return pimpl_->bootstrap; }

#include "context_key.inc"
struct Executor::Impl {
  /// Whether the plan is set up for the allocations, which it then is.
  static bool sets_up(void* sendbuff, void* recvbuff, size_t sendMemRange, size_t recvMemRange,
                      const ExecutionPlan& plan) {
    static std::vector<ExecutionContextKey> contexts;
#include "context_of_call.inc"
    if (std::find(contexts.begin(), contexts.end(), key) != contexts.end()) return false;
    contexts.push_back(key);
    return true;
  }
};
static bool only_sets_up = false, was_set_up = false;
Executor::Executor(std::shared_ptr<Communicator>, std::shared_ptr<char>) {}
Executor::~Executor() = default;
// as its own up to where memory is registered: the plan is loaded for the sizes of the call
void Executor::execute(int, void* input, void* output, size_t input_bytes, size_t output_bytes, DataType,
                       const ExecutionPlan& plan, cudaStream_t, PacketType) {
  if (only_sets_up) {
    was_set_up = Impl::sets_up(input, output, input_bytes, output_bytes, plan);
    return;
  }
  plan.impl_->reset();
  plan.impl_->loadExecutionPlan(input_bytes, output_bytes, 0, 0);
}

bool isNvlsSupported() { return false; }
bool isCuMemMapAllocated(void*) { return false; }
namespace collective {
bool isFp8DataType(DataType) { return false; }
bool isNativeFp8DataType(DataType) { return false; }
bool isFp8NvlsSupported() { return false; }
}  // namespace collective
}  // namespace mscclpp

#define MSCCLPP_NCCL ::mscclpp::LogSubsys::NCCL
static bool mscclppNcclDlopenSharedLib = true;
static std::pair<int, int> getDeviceComputeCapability() { return {9, 0}; }
static cudaError_t not_capturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  return *status = cudaStreamCaptureStatusNone, cudaSuccess;
}
#define cudaStreamIsCapturing not_capturing
#define CUDACHECK(call) static_cast<void>(call)
#include "stock_selector.inc"

namespace {

using mscclpp::Algorithm;
using mscclpp::DataType;

class OneRank : public mscclpp::Bootstrap {
 public:
  explicit OneRank(int rank) : rank_(rank) {}
  int getRank() const override { return rank_; }
  int getNranks() const override { return 0; }
  int getNranksPerNode() const override { return 0; }
  void send(void*, int, int, int) override {}
  void recv(void*, int, int, int) override {}
  void allGather(void*, int) override {}
  void barrier() override {}

 private:
  int rank_;
};

const std::map<std::string, DataType> TYPES{{"float32", DataType::FLOAT32},   {"float16", DataType::FLOAT16},
                                            {"bfloat16", DataType::BFLOAT16}, {"int32", DataType::INT32},
                                            {"uint32", DataType::UINT32},     {"uint8", DataType::UINT8}};

std::shared_ptr<Algorithm> native(const std::string& collective, const std::string& name) {
  auto nothing = [](std::shared_ptr<mscclpp::Communicator>) {};
  auto launch = [](auto&&...) { return mscclpp::CommResult::CommSuccess; };
  auto context = [](auto&&...) -> std::shared_ptr<void> { return nullptr; };
  auto key = [](auto&&...) { return mscclpp::AlgorithmCtxKey{}; };
  return std::make_shared<mscclpp::NativeAlgorithm>(name, collective, nothing, launch, context, key);
}

class Process {
 public:
  explicit Process(int rank)
      : rank_(rank), communicator_(std::make_shared<mscclpp::Communicator>(std::make_shared<OneRank>(rank))) {}

  void obey(const std::string& line) {
    std::istringstream words(line);
    std::string verb, name, collective, path;
    words >> verb;
    if (verb == "native") {
      words >> collective >> name;
      collection_.registerAlgorithm(collective, name, native(collective, name));
    } else if (verb == "plan" || verb == "held") {
      int ranks, per_node;
      words >> name >> collective >> ranks >> per_node >> path;
      auto plan = std::make_shared<mscclpp::DslAlgorithm>(name, mscclpp::ExecutionPlan(path, rank_),
                                                          std::unordered_map<std::string, uint64_t>{},
                                                          Algorithm::Constraint{ranks, per_node});
      if (verb == "plan") collection_.registerAlgorithm(collective, plan->name(), plan);
      if (verb == "held") held_[name] = plan;
    } else if (verb == "order") {
      words >> collective;
      for (const auto& [found, algorithm] : collection_.getAlgorithmsByCollective(collective))
        if (algorithm->type() == mscclpp::AlgorithmType::DSL) std::cout << found << ' ';
      std::cout << '\n';
    } else if (verb == "call") {
      std::cout << call(words) << '\n';
    } else if (verb == "context") {
      uintptr_t input, output;
      size_t input_size, output_size;
      words >> name >> input >> input_size >> output >> output_size;
      mscclpp::only_sets_up = true;
      execute(*held_.at(name), input, output, input_size, output_size, DataType::FLOAT32);
      mscclpp::only_sets_up = false;
      std::cout << (mscclpp::was_set_up ? "sets up\n" : "goes by an earlier one\n");
    }
  }

 private:
  mscclpp::CommResult execute(Algorithm& algorithm, uintptr_t input, uintptr_t output, size_t input_bytes,
                              size_t output_bytes, DataType type) {
    return algorithm.execute(communicator_, reinterpret_cast<const void*>(input), reinterpret_cast<void*>(output),
                             input_bytes, output_bytes, type, mscclpp::ReduceOp::SUM, nullptr,
                             std::make_shared<mscclpp::Executor>(communicator_, nullptr));
  }

  std::string call(std::istringstream& words) {
    std::string collective, type, given;
    int ranks, per_node;
    uintptr_t input, output;
    size_t message, input_bytes, output_bytes;
    words >> collective >> ranks >> per_node >> input >> output >> message >> input_bytes >> output_bytes >> type >>
        given;
    const auto* source = reinterpret_cast<const void*>(input);
    auto* target = reinterpret_cast<void*>(output);
    const std::unordered_map<std::string, std::vector<uint64_t>> hints;
    const mscclpp::CollectiveRequest request{ranks,   per_node, rank_,      source,         target,
                                             message, nullptr,  collective, TYPES.at(type), hints};
    auto own = [&](const auto&, const auto&) { return given == "-" ? nullptr : held_.at(given); };
    if (held_.empty())
      collection_.setSelectors(nullptr, algoSelector);
    else
      collection_.setSelectors(own, algoSelector);
    try {
      auto found = collection_.selectAlgorithm(request);
      if (!found) return "nccl";
      auto done = execute(*found, input, output, input_bytes, output_bytes, TYPES.at(type));
      const std::string kind = found->type() == mscclpp::AlgorithmType::DSL ? "plan " : "native ";
      return kind + found->name() + (done == mscclpp::CommResult::CommSuccess ? "" : " fails");
    } catch (const std::exception& error) {
      return std::string("throws ") + error.what();
    }
  }

  int rank_;
  std::shared_ptr<mscclpp::Communicator> communicator_;
  mscclpp::AlgorithmCollection collection_;
  std::map<std::string, std::shared_ptr<mscclpp::DslAlgorithm>> held_;
};

}  // namespace

int main(int, char** arguments) {
  Process process(std::stoi(arguments[1]));
  for (std::string line; std::getline(std::cin, line);) process.obey(line);
}
