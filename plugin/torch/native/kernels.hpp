#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/DynamicTypes.h>
#include <torch/library.h>

#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <utility>
#include <vector>

#include "passes.hpp"
#include "shared.hpp"

namespace hocket {

/// Hands an operation on, from a kernel at BackendSelect: redispatch.py.
inline void hand_on(const c10::OperatorHandle& handle, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  constexpr c10::DispatchKeySet kBelow(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::BackendSelect);
  constexpr c10::DispatchKey kServing = c10::DispatchKey::CustomRNGKeyId;
  keys = keys & kBelow;
  handle.redispatchBoxed(handle.hasKernelForDispatchKey(kServing) ? keys.add(kServing) : keys, stack);
}

/// An argument that only some operations have: Detail of signature.py.
struct Detail {
  enum class What { kRank, kSplits, kNumber, kReduction };
  What what;
  std::string key;
  int position;
};

/// Signature of signature.py: an operation's arguments by position, -1 where it has none of a kind.
struct Signature {
  std::string op;
  int group;
  int input;
  int output;
  bool in_parts;
  int is_async;
  bool async_default;
  bool returns_work;
  bool numbered;
  bool addressed;
  bool any_source;
  std::vector<Detail> details;
};

/// Calls `visit` with each tensor in a value that is a tensor, a list of them or a list of lists.
template <typename Visit>
void for_each_tensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    visit(value.toTensor());
  } else {
    for (const c10::IValue& element : value.toListRef()) for_each_tensor(element, visit);
  }
}

/// What `wait_tensor` knows a tensor by: where its data lies, or what would hold data were there any.
inline const void* address(const at::Tensor& tensor) {
  const void* data = tensor.data_ptr();
  return data != nullptr ? data : tensor.storage().unsafeGetStorageImpl();
}

/// Records a `c10d::*` operation and hands it on to the backend below.
///
/// Boxed: one kernel class serves all operations, which differ in their signatures alone. It must not fail: whatever
/// goes wrong in recording becomes a line of the stream, and the operation is handed on.
class Kernel final : public c10::OperatorKernel {
 public:
  /// `bit` is its own among those of Group::without_future.
  Kernel(Signature signature, int bit) : signature_(std::move(signature)), bit_(std::uint64_t{1} << bit) {}

  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    const c10::IValue* arguments = stack->data() + (stack->size() - handle.schema().arguments().size());
    const bool is_async = signature_.is_async < 0 ? signature_.async_default : arguments[signature_.is_async].toBool();
    const Call call = issue(arguments, is_async);
    Recorder& recorder = Shared::get().recorder;
    DeviceTimes& times = Shared::get().times;
    Mark ready = call.is_told() ? times.mark(call.device) : nullptr;
    const std::int64_t begin = now_ns();
    try {
      hand_on(handle, keys, stack);
    } catch (const std::exception& error) {
      if (call.id >= 0 && signature_.returns_work) {  // monitored_barrier does not refuse, it fails
        recorder.not_issued(call.id);
        recorder.write(error_line(signature_.op, std::string("raised: ") + error.what()));
      }
      throw;
    }
    if (call.id < 0 && !recorder.remembers_works()) return;  // between windows of steps
    const auto work = signature_.returns_work ? stack->back().toCustomClass<c10d::Work>() : nullptr;
    if (work == nullptr && call.id >= 0 && !signature_.numbered && recorder.in_batch()) {  // the batch has the Work
      if (ready != nullptr) times.tell('r', {call.id}, std::move(ready));
      return Recorder::issued_on(call.device);
    }
    if (work == nullptr) {  // a synchronous call, which some backends (NCCL) end without a Work
      if (call.id >= 0) recorder.waited(call.id, begin);
      if (ready != nullptr) times.tell('e', {call.id}, std::move(ready), times.mark(call.device));
      return;
    }
    if (recorder.dropping()) return;
    if (call.id < 0) {  // it may lie where a recorded one lay that nobody waited for
      recorder.take_work(work.get());
      return;
    }
    recorder.add_to_section(call.id);
    recorder.remember(work.get(), {call.id, signature_.any_source ? call.group : nullptr, call.device});
    if (ready != nullptr) tell_ready(call, *work, is_async, std::move(ready));
    if (!signature_.numbered) return Recorder::issued_on(call.device);
    if (!is_async) return;  // the end of a synchronous one is the end of its wait
    await_done(call.id, *work, *call.group);
    if (const auto pass = Pass::current()) pass->add(call.id, call.device);
  }

 private:
  /// A call by its number, -1 when it is not one of those to record; `group` may be null then.
  struct Call {
    std::int64_t id = -1;
    Group* group = nullptr;
    c10::Device device = c10::kCPU;

    /// Whether it is on a device whose times are told.
    bool is_told() const { return id >= 0 && DeviceTimes::can_tell(device); }
  };

  /// Tells when its stream was ready for a call and, where that is wanted, when the call ended: by a stream of ours
  /// that waits for its future, as a stream of the job's would. The Work is not kept, nor what it keeps alive.
  static void tell_ready(const Call& call, c10d::Work& work, bool is_async, Mark ready) {
    Shared& shared = Shared::get();
    Mark end;
    if (is_async && shared.exact_ends) {
      try {
        const auto future = work.getFuture();
        if (future != nullptr && future->completed()) {
          const c10::Stream side = shared.times.side_stream(call.group->id, call.device);
          const c10::StreamGuard within(side);
          future->wait();
          end = shared.times.mark(side);
        }
      } catch (const std::exception&) {  // messages of a batch have none
      }
    }
    const char letter = end == nullptr ? 'r' : 'e';
    shared.times.tell(letter, {call.id}, std::move(ready), std::move(end));
  }

  /// Writes the call down.
  Call issue(const c10::IValue* arguments, bool is_async) {
    Shared& shared = Shared::get();
    shared.start_once();
    if (shared.recorder.dropping()) return {};
    try {
      Group* const group = &find_group(*arguments[signature_.group].toCustomClass<c10d::ProcessGroup>());
      const std::int64_t sequence = signature_.numbered ? group->next_sequence++ : 0;
      thread_local std::string shape;
      thread_local std::vector<const void*> addresses;
      addresses.clear();
      if (is_async && signature_.addressed) {
        for_each_tensor(arguments[signature_.output],
                        [](const at::Tensor& tensor) { addresses.push_back(address(tensor)); });
      }
      const bool capturing = shared.captures.any();
      c10::Device device(c10::kCPU);
      if (capturing || shared.recorder.recording()) {
        device = describe(arguments, *group, is_async, shape);
        if (shared.find_line) {
          if (const std::string line = shared.find_line(); !line.empty()) append_text(shape, "at", line);
        }
      }
      if ((capturing && is_captured(device, *group, shape)) || !shared.recorder.recording()) {
        // The wait is not a recorded one's that wrote there before.
        for (const void* address : addresses) shared.recorder.take_address(address);
        return {};
      }
      return {shared.recorder.issue(shape, sequence, addresses), group, device};
    } catch (const std::exception& error) {  // must not stop the job: it becomes a line in the stream
      shared.recorder.write(error_line(signature_.op, error.what()));
      return {};
    }
  }

  /// Whether a call is not done, but captured in a graph; it is noted there.
  bool is_captured(c10::Device device, const Group& group, const std::string& shape) const {
    if (!DeviceTimes::has_streams(device)) return false;
    const std::int64_t stream = DeviceTimes::current_stream(device).id();
    const std::int64_t batch = signature_.numbered ? -1 : Recorder::batch();
    const auto counted = signature_.numbered ? std::optional(group.id) : std::nullopt;
    return Shared::get().captures.take(thread_number(), stream, shape, batch, counted);
  }

  /// Makes `text` the shape of the call; the device of its tensors.
  c10::Device describe(const c10::IValue* arguments, const Group& group, bool is_async, std::string& text) const {
    std::int64_t input_bytes = 0, output_bytes = 0;
    const THPDtype* dtype = nullptr;
    c10::Device device(c10::kCPU);
    const auto add_up = [&](int position, std::int64_t& bytes) {
      if (position < 0) return;
      for_each_tensor(arguments[position], [&](const at::Tensor& tensor) {
        if (dtype == nullptr) {
          dtype = torch::getTHPDtype(tensor.scalar_type());
          device = tensor.device();
        }
        bytes += static_cast<std::int64_t>(tensor.nbytes());
      });
    };
    add_up(signature_.input, input_bytes);
    if (signature_.input == signature_.output) {
      output_bytes = input_bytes;
    } else {
      add_up(signature_.output, output_bytes);
    }
    text = R"("op":")";
    text.append(signature_.op).append(R"(","group":)");
    append(text, group.id);
    append_number(text, "in", input_bytes);
    append_number(text, "out", output_bytes);
    if (dtype != nullptr) append_text(text, "dtype", dtype->name);
    if (is_async) append_number(text, "async", 1);
    if (DeviceTimes::has_streams(device)) {
      append_number(text, "stream", DeviceTimes::current_stream(device).id());
    }
    if (signature_.in_parts) append_parts(text, arguments[signature_.input]);
    for (const Detail& detail : signature_.details) append_detail(text, detail, arguments[detail.position], group);
    return device;
  }

  void append_detail(std::string& text, const Detail& detail, const c10::IValue& value, const Group& group) const {
    switch (detail.what) {
      case Detail::What::kRank:  // a rank in an argument counts within the group; in the stream, within the world
        return append_number(text, detail.key, group.ranks.at(value.toInt()));
      case Detail::What::kNumber:
        return append_number(text, detail.key, value.toInt());
      case Detail::What::kReduction:
        return append_text(text, detail.key, Shared::get().reductions.at(value.toCustomClass<c10d::ReduceOp>()->op_));
      case Detail::What::kSplits: {
        std::vector<std::int64_t> sizes;
        for (const c10::IValue& size : value.toListRef()) sizes.push_back(size.toInt());
        if (!sizes.empty()) append_list(text, detail.key, sizes);
      }
    }
  }

  /// The bytes of each tensor of a list, where they differ.
  static void append_parts(std::string& text, const c10::IValue& tensors) {
    std::vector<std::int64_t> sizes;
    for_each_tensor(tensors,
                    [&](const at::Tensor& tensor) { sizes.push_back(static_cast<std::int64_t>(tensor.nbytes())); });
    for (const std::int64_t size : sizes) {
      if (size != sizes.front()) return append_list(text, "in_splits", sizes);
    }
  }

  static void append_key(std::string& text, std::string_view key) { text.append(",\"").append(key).append("\":"); }

  static void append_number(std::string& text, std::string_view key, std::int64_t number) {
    append_key(text, key);
    append(text, number);
  }

  static void append_text(std::string& text, std::string_view key, std::string_view value) {
    append_key(text, key);
    text.append("\"").append(value).append("\"");
  }

  static void append_list(std::string& text, std::string_view key, const std::vector<std::int64_t>& numbers) {
    append_key(text, key);
    text += '[';
    for (const std::int64_t number : numbers) {
      append(text, number);
      text += ',';
    }
    text.back() = ']';
  }

  void await_done(std::int64_t id, c10d::Work& work, Group& group) const {
    if (group.without_future & bit_) return;
    try {
      if (const auto future = work.getFuture()) {
        const auto done = [id](c10::ivalue::Future& future) {
          if (!future.hasError()) Shared::get().recorder.done(id);  // what failed did not end
        };
        return future->addCallback(done, /*uses_future=*/false);
      }
    } catch (const c10::Error&) {  // gloo's coalesced reduce_scatter has none: its end is the end of its wait
    }
    group.without_future |= bit_;  // to ask again would cost a backtrace
  }

  Signature signature_;
  std::uint64_t bit_;
};

/// A functional send: the empty tensor that it returns is what `wait_tensor` is told.
class SendKernel final : public c10::OperatorKernel {
 public:
  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    Recorder& recorder = Shared::get().recorder;
    recorder.forget_last();
    hand_on(handle, keys, stack);
    try {
      recorder.writes_at(address(stack->back().toTensor()));
    } catch (const c10::Error&) {  // a tensor without storage, while torch.compile traces
    }
  }
};

/// Hands on an operation that cannot be recorded, and says so once.
class UnknownKernel final : public c10::OperatorKernel {
 public:
  /// `line` is what to write, at the first call that was to be recorded.
  explicit UnknownKernel(std::string line) : line_(std::move(line)) {}

  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    Shared& shared = Shared::get();
    shared.start_once();
    if (shared.recorder.recording() && !said_.exchange(true)) shared.recorder.keep(line_);
    hand_on(handle, keys, stack);
  }

 private:
  const std::string line_;
  std::atomic<bool> said_ = false;
};

/// `wait_tensor` and `wait_tensors`: where functional collectives are waited for, in C++, known by the tensors they
/// wrote.
class WaitTensorKernel final : public c10::OperatorKernel {
 public:
  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    Recorder& recorder = Shared::get().recorder;
    DeviceTimes& times = Shared::get().times;
    c10::Device device(c10::kCPU);
    if (!recorder.dropping()) {
      for_each_tensor(stack->back(), [&](const at::Tensor& tensor) { device = tensor.device(); });
    }
    Mark arrived = DeviceTimes::can_tell(device) ? times.mark(device) : nullptr;
    const std::int64_t begin = now_ns();
    hand_on(handle, keys, stack);
    if (recorder.dropping()) return;
    try {
      std::vector<std::int64_t> ids;
      for_each_tensor(stack->back(), [&](const at::Tensor& tensor) {
        if (const auto id = recorder.take_address(address(tensor))) {
          recorder.waited(*id, begin);
          ids.push_back(*id);
        }
      });
      if (!ids.empty() && arrived != nullptr) times.tell('v', ids, std::move(arrived), times.mark(device));
    } catch (const c10::Error&) {  // tensors without data, while torch.compile traces
    }
  }
};

}  // namespace hocket
