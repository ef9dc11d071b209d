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

  TypeInfo of(MPI_Datatype type) const;

  /// "SUM", "MAX", ...; "USER" for an operation of the program's own.
  const char* reduction(MPI_Op op) const;

  /// Whether the operation is MPI's own.
  bool is_predefined(MPI_Op op) const;

  /// Whether the standard defines what such an operation does to elements of this type (MPI 4.1, section 6.9.2).
  bool is_defined(MPI_Op op, MPI_Datatype type) const;

 private:
  /// Of operations; a type has a set of these.
  /// The standard's classes of operations, as bits: an operation is defined for a type if they share one.
  enum Group : unsigned { kNone = 0, kOrder = 1, kSums = 2, kLogic = 4, kBits = 8, kPlaces = 16 };

  struct Family;
  static std::vector<Family> families();

  void add(MPI_Datatype type, const std::string& name, unsigned groups);
  const char* base_name(MPI_Datatype type) const;

  struct Known {
    int64_t bytes;
    std::string name;
    bool is_plain;
    unsigned groups;
  };
  struct Reducer {
    MPI_Op op;
    const char* name;
    Group group;
  };

  std::unordered_map<MPI_Datatype, Known> predefined_;
  std::vector<Reducer> reductions_;
};

/// Bytes of the message that a receive brought.
int64_t received_bytes(const MPI_Status& status);

}  // namespace hocket::mpi
