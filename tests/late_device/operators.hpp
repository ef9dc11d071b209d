#pragma once

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <optional>
#include <utility>
#include <vector>

#include "guard.hpp"

namespace late {

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

/// A tensor's memory as the CPU sees it, without a share in it: work that was enqueued holds nothing, as on a GPU.
inline at::Tensor on_cpu(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.device().type() != kLate) return tensor;
  const auto options = tensor.options().device(c10::kCPU);
  if (tensor.numel() == 0) return at::empty_strided(tensor.sizes(), tensor.strides(), options);
  return at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(), options);
}

/// Enqueues what an operation does to the memory of its tensors.
inline void enqueue(Task task) {
  current_stream().push([task = std::move(task)] {
    const c10::impl::ExcludeDispatchKeyGuard without_autograd(c10::autograd_dispatch_keyset);
    const c10::impl::ExcludeDispatchKeyGuard without_views(c10::DispatchKey::ADInplaceOrView);
    task();
  });
}

inline at::Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                        std::optional<at::Device>, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(size, &Memory::get(), kKeys, c10::dtype_or_default(dtype), format);
}

inline at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> dtype,
                                std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(size, stride, &Memory::get(), kKeys, c10::dtype_or_default(dtype));
}

/// Between the host and the device, as from memory that is not pinned: the source is read at once, and what comes to
/// the host is there on return.
inline at::Tensor copy_from(const at::Tensor& source, const at::Tensor& target, bool) {
  const bool to_host = target.device().type() != kLate;
  const at::Tensor from = source.device().type() == kLate ? on_cpu(source) : source.clone();
  const at::Tensor to = to_host ? target : on_cpu(target);
  TORCH_CHECK(!to_host || current_stream().capture() == nullptr, "operation not permitted when stream is capturing");
  enqueue([from, to] { to.copy_(from); });
  if (to_host) current_stream().synchronize();
  return target;
}

inline const at::Tensor& resize_to(const at::Tensor& self, at::IntArrayRef size, std::optional<at::MemoryFormat>) {
  auto* implementation = self.unsafeGetTensorImpl();
  const auto bytes = static_cast<std::size_t>(c10::multiply_integers(size)) * self.itemsize();
  const auto& storage = self.storage();
  if (storage.nbytes() < bytes) {
    storage.set_data_ptr_noswap(Memory::get().allocate(bytes));
    storage.set_nbytes(bytes);
  }
  implementation->set_sizes_contiguous(size);
  return self;
}

inline at::Tensor copy_from_and_resize(const at::Tensor& source, const at::Tensor& target) {
  if (target.sizes() != source.sizes()) resize_to(target, source.sizes(), std::nullopt);
  return copy_from(source, target, false);
}

inline at::Scalar scalar_of(const at::Tensor& tensor) {
  const at::Tensor here = at::empty({}, tensor.options().device(c10::kCPU));
  copy_from(tensor, here, false);
  return here.item();
}

inline void record_stream(at::Tensor& tensor, c10::Stream stream) {
  Memory::get().record(tensor.storage().data_ptr().get(), stream.id());
}

/// The values with each tensor (and device) in them replaced.
template <typename Replace>
c10::IValue replaced(const c10::IValue& value, const Replace& replace) {
  if (value.isTensor()) return replace(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> tensors;
    for (const at::Tensor& tensor : value.toTensorVector()) tensors.push_back(replace(tensor));
    return tensors;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> tensors;
    for (const std::optional<at::Tensor> tensor : value.toOptionalTensorList()) {
      tensors.push_back(tensor ? std::optional(replace(*tensor)) : std::nullopt);
    }
    return tensors;
  }
  if (value.isDevice() && value.toDevice().type() == kLate) return c10::Device(c10::kCPU);
  return value;
}

inline at::Tensor as_meta(const at::Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  return at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(c10::kMeta));
}

/// Whether an operation returns what it was given to write to, and nothing else.
inline bool writes_its_arguments(const c10::FunctionSchema& schema) {
  for (const auto& returned : schema.returns()) {
    if (returned.alias_info() == nullptr || !returned.alias_info()->isWrite()) return false;
  }
  return !schema.returns().empty();
}

inline bool has_views(const c10::FunctionSchema& schema) {
  for (const auto& returned : schema.returns()) {
    if (returned.alias_info() != nullptr) return true;
  }
  return false;
}

/// What an operation returns, without memory; nothing where PyTorch cannot tell without the values.
inline std::optional<torch::jit::Stack> without_values(const c10::OperatorHandle& handle, torch::jit::Stack arguments) {
  for (auto& value : arguments) value = replaced(value, as_meta);
  try {
    handle.callBoxed(arguments);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  for (const auto& value : arguments) {
    if (!value.isTensor() || !value.toTensor().defined()) return std::nullopt;
  }
  return arguments;
}

/// Any operation, by PyTorch's kernel for CPUs on the stream's thread; where its results' sizes depend on values the
/// host waits.
inline void by_cpu(const c10::OperatorHandle& handle, torch::jit::Stack* stack) {
  const auto& schema = handle.schema();
  const std::size_t count = schema.arguments().size(), first = stack->size() - count;
  torch::jit::Stack arguments(stack->begin() + first, stack->end());
  torch::jit::Stack results;
  if (writes_its_arguments(schema)) {
    bool sized = true;
    for (std::size_t at = 0; at < count; ++at) {
      const auto* alias = schema.arguments()[at].alias_info();
      if (alias == nullptr || !alias->isWrite()) continue;
      sized = sized && arguments[at].isTensor() && arguments[at].toTensor().numel() > 0;
      results.push_back(arguments[at]);
    }
    if (!sized || results.size() != schema.returns().size()) return at::native::cpu_fallback(handle, stack);
  } else {
    const auto shapes = has_views(schema) ? std::nullopt : without_values(handle, arguments);
    if (!shapes) return at::native::cpu_fallback(handle, stack);
    for (const auto& shape : *shapes) {
      const at::Tensor& like = shape.toTensor();
      results.emplace_back(empty_strided(like.sizes(), like.strides(), like.scalar_type(), {}, {}, {}));
    }
  }
  torch::jit::Stack inputs, outputs;
  for (const auto& value : arguments) inputs.push_back(replaced(value, on_cpu));
  for (const auto& value : results) outputs.push_back(replaced(value, on_cpu));
  enqueue([handle, inputs, outputs] {
    torch::jit::Stack called = inputs;
    handle.callBoxed(called);
    for (std::size_t at = 0; at < outputs.size(); ++at) {
      if (called[at].toTensor().data_ptr() != outputs[at].toTensor().data_ptr()) {
        outputs[at].toTensor().copy_(called[at].toTensor());
      }
    }
  });
  torch::jit::drop(*stack, count);
  for (auto& value : results) stack->push_back(std::move(value));
}

}  // namespace late
