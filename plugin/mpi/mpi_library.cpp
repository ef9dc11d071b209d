#include "mpi_library.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace hocket::mpi {
namespace {

#if defined(OPEN_MPI)
constexpr const char* kInterface = "Open MPI";
#elif defined(MPI_ABI)
constexpr const char* kInterface = "the MPI standard ABI";
#else
constexpr const char* kInterface = "MPICH";
#endif

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "hocket: %s\n", message.c_str());
  _exit(3);
}

/// Handle of the first loaded object through which MPI's profiling functions are found.
// Objects are searched one by one and not by RTLD_NEXT: mpi4py loads its MPI with RTLD_LOCAL, out of sight of the
// default search.
void* open_library() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* found) {
        static_cast<std::vector<std::string>*>(found)->push_back(object->dlpi_name);
        return 0;
      },
      &paths);
  for (const std::string& path : paths) {
    void* const handle = dlopen(path.empty() ? nullptr : path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle != nullptr && dlsym(handle, "PMPI_Init") != nullptr) return handle;
  }
  fail("no MPI library is loaded, though MPI was called");
}

void* library() {
  static void* const library = open_library();
  return library;
}

}  // namespace

void* find_symbol(const char* name) {
  void* const symbol = dlsym(library(), name);
  if (symbol == nullptr) fail(library_path() + " has no " + name + ": choose its own compiler by --mpicc");
  return symbol;
}

std::string library_path() {
  Dl_info where{};
  dladdr(dlsym(library(), "PMPI_Init"), &where);
  return where.dli_fname == nullptr ? "the MPI library" : where.dli_fname;
}

void require_same_interface() {
  const std::string path = library_path();
  const char* interface = "MPICH";
  // Told by what the library has: only Open MPI has its handles as objects, and MPICH of the standard ABI a name of its
  // own.
  if (path.substr(path.rfind('/') + 1).starts_with("libmpi_abi")) {
    interface = "the MPI standard ABI";
  } else if (dlsym(library(), "ompi_mpi_comm_world") != nullptr) {
    interface = "Open MPI";
  }
  if (std::string(interface) != kInterface) {
    fail("the program loaded " + path + ", which has the interface of " + interface +
         "; the recorder was compiled for that of " + kInterface + ": choose that library's compiler by --mpicc");
  }
}

}  // namespace hocket::mpi
