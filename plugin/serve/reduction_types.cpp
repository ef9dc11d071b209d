/// The number of a reduction, which PyTorch 2.4 to 2.14 keep from Python.

#include <torch/library.h>

#include <torch/csrc/distributed/c10d/Types.hpp>

TORCH_LIBRARY(hocket_reductions, library) {
  library.def("type(__torch__.torch.classes.c10d.ReduceOp reduction) -> int",
              [](const c10::intrusive_ptr<c10d::ReduceOp>& reduction) { return static_cast<int64_t>(reduction->op_); });
}
