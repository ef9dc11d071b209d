#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/StreamGuard.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <utility>
#include <vector>

#include "operators.hpp"

namespace late {

using Tensors = std::vector<at::Tensor>;
using Lists = std::vector<Tensors>;
using WorkPointer = c10::intrusive_ptr<c10d::Work>;

inline Tensors on_cpu(const Tensors& tensors) {
  Tensors seen;
  for (const auto& tensor : tensors) seen.push_back(on_cpu(tensor));
  return seen;
}

inline Lists on_cpu(const Lists& lists) {
  Lists seen;
  for (const auto& list : lists) seen.push_back(on_cpu(list));
  return seen;
}

/// As NCCL's: `wait` makes the current stream wait and returns at once, the future is complete when the work is
/// enqueued, and only `isCompleted` tells whether it is done.
class Work final : public c10d::Work {
 public:
  Work(int rank, c10d::OpType kind, c10::StreamId stream, Tensors outputs)
      : c10d::Work(rank, kind), end_(Streams::get().at(stream).record()), outputs_(std::move(outputs)) {
    future_ = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()),
                                                       std::vector<c10::Device>{{kLate, 0}});
    const c10::StreamGuard within(Guard::stream(stream));
    future_->markCompleted(c10::IValue(outputs_));
  }

  bool isCompleted() override { return end_->is_reached(); }
  bool isSuccess() const override { return true; }
  Tensors result() override { return outputs_; }
  void synchronize() override { current_stream().wait_for(end_); }
  bool wait(std::chrono::milliseconds) override {
    synchronize();
    return true;
  }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }

 private:
  const std::shared_ptr<Mark> end_;
  const Tensors outputs_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

/// A barrier that a test opens.
class Gate {
 public:
  void hold() { held_ = true; }
  void open() {
    held_ = false;
    held_.notify_all();
  }
  void pass() const { held_.wait(true); }

 private:
  std::atomic<bool> held_ = false;
};

/// A backend for the device: what it is asked comes to `inner`, which is one for CPUs, on a stream of its own. Messages
/// outside of a coalesced group have a stream for each peer.
class Group final : public c10d::Backend {
 public:
  Group(c10::intrusive_ptr<c10d::Backend> inner, int rank, int size)
      : c10d::Backend(rank, size), inner_(std::move(inner)), stream_(Streams::get().add()), peers_(size) {}

  /// No work is done from now on until `open`.
  void hold() { gate_.hold(); }
  void open() { gate_.open(); }

  const std::string getBackendName() const override { return "late"; }
  bool supportsCoalescing() const { return true; }

  void startCoalescing() override { coalesced_.emplace(); }

  /// The group's description at each coalesced group of messages so far: what Flight Recorder would keep of it.
  const std::vector<std::string>& descriptions() const { return descriptions_; }

  WorkPointer endCoalescing() override {
    descriptions_.push_back(pg_desc_);
    Coalesced coalesced = std::move(*coalesced_);
    coalesced_.reset();
    return run(c10d::OpType::COALESCED, coalesced.inputs, coalesced.outputs, stream_, [calls = coalesced.calls] {
      std::vector<WorkPointer> works;
      for (const auto& call : calls) works.push_back(call());
      for (const auto& work : works) work->wait();
    });
  }

  WorkPointer allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    return issue(c10d::OpType::ALLREDUCE, tensors, tensors, [inner = inner_, seen = on_cpu(tensors), options] {
      Tensors given = seen;
      return inner->allreduce(given, options);
    });
  }

  WorkPointer allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override {
    return issue(c10d::OpType::ALLREDUCE_COALESCED, tensors, tensors,
                 [inner = inner_, seen = on_cpu(tensors), options] {
                   Tensors given = seen;
                   return inner->allreduce_coalesced(given, options);
                 });
  }

  WorkPointer broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    return issue(c10d::OpType::BROADCAST, tensors, tensors, [inner = inner_, seen = on_cpu(tensors), options] {
      Tensors given = seen;
      return inner->broadcast(given, options);
    });
  }

  WorkPointer reduce(Tensors& tensors, const c10d::ReduceOptions& options) override {
    return issue(c10d::OpType::REDUCE, tensors, tensors, [inner = inner_, seen = on_cpu(tensors), options] {
      Tensors given = seen;
      return inner->reduce(given, options);
    });
  }

  WorkPointer allgather(Lists& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override {
    return issue(c10d::OpType::ALLGATHER, inputs, outputs.front(),
                 [inner = inner_, out = on_cpu(outputs), in = on_cpu(inputs), options] {
                   Lists to = out;
                   Tensors from = in;
                   return inner->allgather(to, from, options);
                 });
  }

  WorkPointer _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) override {
    return issue(c10d::OpType::_ALLGATHER_BASE, {input}, {output},
                 [inner = inner_, out = on_cpu(output), in = on_cpu(input), options] {
                   at::Tensor to = out, from = in;
                   return inner->_allgather_base(to, from, options);
                 });
  }

  WorkPointer allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                              const c10d::AllgatherOptions& options) override {
    return issue(c10d::OpType::COALESCED, inputs, outputs,
                 [inner = inner_, out = on_cpu(outputs), in = on_cpu(inputs), options] {
                   Tensors to = out, from = in;
                   return inner->allgather_into_tensor_coalesced(to, from, options);
                 });
  }

  WorkPointer reduce_scatter(Tensors& outputs, Lists& inputs, const c10d::ReduceScatterOptions& options) override {
    return issue(c10d::OpType::REDUCE_SCATTER, inputs.front(), outputs,
                 [inner = inner_, out = on_cpu(outputs), in = on_cpu(inputs), options] {
                   Tensors to = out;
                   Lists from = in;
                   return inner->reduce_scatter(to, from, options);
                 });
  }

  WorkPointer _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                   const c10d::ReduceScatterOptions& options) override {
    return issue(c10d::OpType::_REDUCE_SCATTER_BASE, {input}, {output},
                 [inner = inner_, out = on_cpu(output), in = on_cpu(input), options] {
                   at::Tensor to = out, from = in;
                   return inner->_reduce_scatter_base(to, from, options);
                 });
  }

  WorkPointer reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                              const c10d::ReduceScatterOptions& options) override {
    return issue(c10d::OpType::COALESCED, inputs, outputs,
                 [inner = inner_, out = on_cpu(outputs), in = on_cpu(inputs), options] {
                   Tensors to = out, from = in;
                   return inner->reduce_scatter_tensor_coalesced(to, from, options);
                 });
  }

  WorkPointer alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_sizes,
                            std::vector<int64_t>& input_sizes, const c10d::AllToAllOptions& options) override {
    return issue(c10d::OpType::ALLTOALL_BASE, {input}, {output},
                 [inner = inner_, out = on_cpu(output), in = on_cpu(input), output_sizes, input_sizes, options] {
                   at::Tensor to = out, from = in;
                   auto to_sizes = output_sizes, from_sizes = input_sizes;
                   return inner->alltoall_base(to, from, to_sizes, from_sizes, options);
                 });
  }

  WorkPointer gather(Lists& outputs, Tensors& inputs, const c10d::GatherOptions& options) override {
    return issue(c10d::OpType::GATHER, inputs, outputs.empty() ? Tensors() : outputs.front(),
                 [inner = inner_, out = on_cpu(outputs), in = on_cpu(inputs), options] {
                   Lists to = out;
                   Tensors from = in;
                   return inner->gather(to, from, options);
                 });
  }

  WorkPointer scatter(Tensors& outputs, Lists& inputs, const c10d::ScatterOptions& options) override {
    return issue(c10d::OpType::SCATTER, inputs.empty() ? Tensors() : inputs.front(), outputs,
                 [inner = inner_, out = on_cpu(outputs), in = on_cpu(inputs), options] {
                   Tensors to = out;
                   Lists from = in;
                   return inner->scatter(to, from, options);
                 });
  }

  WorkPointer barrier(const c10d::BarrierOptions&) override {
    const WorkPointer work =
        issue(c10d::OpType::BARRIER, {}, {}, [inner = inner_] { return inner->barrier(c10d::BarrierOptions()); });
    work->synchronize();
    current_stream().synchronize();  // the host waits too, as NCCL's
    return work;
  }

  WorkPointer send(Tensors& tensors, int peer, int tag) override {
    return message(c10d::OpType::SEND, tensors, peer, [inner = inner_, seen = on_cpu(tensors), peer, tag] {
      Tensors given = seen;
      return inner->send(given, peer, tag);
    });
  }

  WorkPointer recv(Tensors& tensors, int peer, int tag) override {
    return message(c10d::OpType::RECV, tensors, peer, [inner = inner_, seen = on_cpu(tensors), peer, tag] {
      Tensors given = seen;
      return inner->recv(given, peer, tag);
    });
  }

  void setSequenceNumberForGroup() override {}
  uint64_t getSequenceNumberForGroup() override { return 0; }

 private:
  using Call = std::function<WorkPointer()>;

  struct Coalesced {
    std::vector<Call> calls;
    Tensors inputs, outputs;
  };

  WorkPointer issue(c10d::OpType kind, const Tensors& inputs, const Tensors& outputs, Call call) {
    return issue_on(stream_, kind, inputs, outputs, std::move(call));
  }

  WorkPointer message(c10d::OpType kind, const Tensors& tensors, int peer, Call call) {
    auto& stream = peers_.at(static_cast<std::size_t>(peer));
    if (!stream && !coalesced_) stream = Streams::get().add();
    return issue_on(coalesced_ ? stream_ : *stream, kind, tensors, tensors, std::move(call));
  }

  WorkPointer issue_on(c10::StreamId stream, c10d::OpType kind, const Tensors& inputs, const Tensors& outputs,
                       Call call) {
    if (coalesced_) {
      coalesced_->calls.push_back(std::move(call));
      coalesced_->inputs.insert(coalesced_->inputs.end(), inputs.begin(), inputs.end());
      coalesced_->outputs.insert(coalesced_->outputs.end(), outputs.begin(), outputs.end());
      return nullptr;
    }
    return run(kind, inputs, outputs, stream, [call = std::move(call)] { call()->wait(); });
  }

  /// After what the current stream was given so far; tensors are held until it is done, as NCCL's watchdog does.
  WorkPointer run(c10d::OpType kind, const Tensors& inputs, const Tensors& outputs, c10::StreamId stream, Task task) {
    Stream& own = Streams::get().at(stream);
    own.wait_for(current_stream().record());
    own.push([this, held = std::pair(inputs, outputs), task = std::move(task)] {
      gate_.pass();
      task();
    });
    return c10::make_intrusive<Work>(getRank(), kind, stream, outputs);
  }

  const c10::intrusive_ptr<c10d::Backend> inner_;
  const c10::StreamId stream_;
  std::vector<std::optional<c10::StreamId>> peers_;
  std::optional<Coalesced> coalesced_;
  std::vector<std::string> descriptions_;
  Gate gate_;
};

}  // namespace late
