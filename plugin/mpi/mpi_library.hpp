/// The MPI library of the program we are loaded into, behind the functions we put in front of it.
///
/// This library is preloaded into every process of a launch, most of which know nothing of MPI, and where a program
/// loads its MPI library late (mpi4py does, for itself alone) the linker cannot find it for us. So nothing of MPI is
/// linked: functions are looked up at their first use, and constants that are objects of the library likewise.
#pragma once

#define MPICH_SKIP_MPICXX 1
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <string>

namespace hocket::mpi {

/// A symbol of the program's MPI library. Ends the process, with a message, when there is none.
void* find_symbol(const char* name);

/// Path of the program's MPI library.
std::string library_path();

/// Ends the process, with a message, when this library was compiled for another binary interface than the program's
/// MPI library has: handles of another size cannot even be passed on.
void require_same_interface();

}  // namespace hocket::mpi

/// The library's own function behind the MPI function `name`.
#define HOCKET_REAL(name) HOCKET_REAL_OF(name)
#define HOCKET_REAL_OF(name)                                                                              \
  ([]() noexcept {                                                                                        \
    static const auto real = reinterpret_cast<decltype(&P##name)>(::hocket::mpi::find_symbol("P" #name)); \
    return real;                                                                                          \
  }())

#define HOCKET_EXPORT extern "C" __attribute__((visibility("default")))

#ifdef OPEN_MPI
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) (static_cast<type>(::hocket::mpi::find_symbol(#global)))
#define HOCKET_PERSISTENT_COLLECTIVES (MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5)
#else
#define HOCKET_PERSISTENT_COLLECTIVES (MPI_VERSION >= 4)
#endif
#define HOCKET_LARGE_COUNTS (MPI_VERSION >= 4)
