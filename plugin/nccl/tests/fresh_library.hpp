/// A plugin as a process that has not loaded it yet finds it.
#pragma once
#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace hocket::nccl::testing {

/// A copy of the library, for one that was loaded stays in the process and keeps its state.
class FreshLibrary {
 public:
  explicit FreshLibrary(const std::filesystem::path& library) {
    static int copies = 0;
    const std::string name = "hocket." + std::to_string(getpid()) + "." + std::to_string(copies++) + ".so";
    path_ = std::filesystem::temp_directory_path() / name;
    std::filesystem::copy_file(library, path_);
    load();
  }
  ~FreshLibrary() {
    unload();
    std::filesystem::remove(path_);
  }
  FreshLibrary(const FreshLibrary&) = delete;

  /// As NCCL does before its first communicator.
  void load() {
    handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
  }
  /// As NCCL does after its last communicator.
  void unload() {
    if (handle_ != nullptr) dlclose(handle_);
    handle_ = nullptr;
  }

  /// What NCCL gets from dlsym.
  template <class Table>
  const Table& table(const char* symbol) const {
    const void* found = dlsym(handle_, symbol);
    if (found == nullptr) throw std::runtime_error(dlerror());
    return *static_cast<const Table*>(found);
  }

 private:
  std::filesystem::path path_;
  void* handle_ = nullptr;
};

}  // namespace hocket::nccl::testing
