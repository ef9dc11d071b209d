/// Sizes and names of datatypes, names of reductions.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "mpi_library.hpp"

namespace hocket::mpi {

/// Bytes of an element, and its name: that of the one predefined type it is made of ("float64"), "" for several.
struct TypeInfo {
  int64_t bytes;
  const char* name;
};

/// What this MPI library's handles mean. Read-only once made, after MPI_Init.
class Datatypes {
 public:
  Datatypes();

  TypeInfo Of(MPI_Datatype type) const;

  /// "SUM", "MAX", ...; "USER" for an operation of the program's own.
  const char* Reduction(MPI_Op op) const;

 private:
  const char* BaseName(MPI_Datatype type) const;

  std::unordered_map<MPI_Datatype, std::pair<int64_t, std::string>> predefined_;
  std::vector<std::pair<MPI_Op, const char*>> reductions_;
};

/// Bytes of the message that a receive brought.
int64_t ReceivedBytes(const MPI_Status& status);

}  // namespace hocket::mpi
