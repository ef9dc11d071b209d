#include "device.hpp"

#include <dlfcn.h>

namespace hocket::nccl {
namespace {

/// cuCtxGetDevice and cudaGetDevice alike.
using GetDevice = int (*)(int*);

int ask(void* library, const char* function) {
  const auto get_device = library == nullptr ? nullptr : reinterpret_cast<GetDevice>(dlsym(library, function));
  int device = -1;
  return get_device != nullptr && get_device(&device) == 0 ? device : -1;
}

}  // namespace

// Nothing is loaded: a process with communicators has CUDA's driver, and the plugin is built without CUDA.
int current_device() {
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  const int device = ask(driver, "cuCtxGetDevice");
  if (driver != nullptr) dlclose(driver);
  return device >= 0 ? device : ask(RTLD_DEFAULT, "cudaGetDevice");
}

}  // namespace hocket::nccl
