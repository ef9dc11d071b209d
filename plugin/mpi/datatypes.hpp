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
  bool is_plain;  // predefined, and without gaps
};

/// `count` elements of a type; of a buffer with a share for each rank, those of a share.
struct Block {
  const void* buffer;
  int64_t count;
  MPI_Datatype type;
};

/// What this MPI library's handles mean. Read-only once made, after MPI_Init.
class Datatypes {
 public:
  Datatypes();

  TypeInfo Of(MPI_Datatype type) const;

  /// "SUM", "MAX", ...; "USER" for an operation of the program's own.
  const char* Reduction(MPI_Op op) const;

  /// Whether MPI defines what the operation does to elements.
  bool IsPredefined(MPI_Op op) const;

 private:
  void Add(MPI_Datatype type, const std::string& name);
  const char* BaseName(MPI_Datatype type) const;

  struct Known {
    int64_t bytes;
    std::string name;
    bool is_plain;
  };

  std::unordered_map<MPI_Datatype, Known> predefined_;
  std::vector<std::pair<MPI_Op, const char*>> reductions_;
};

/// Bytes of the message that a receive brought.
int64_t ReceivedBytes(const MPI_Status& status);

}  // namespace hocket::mpi
