#include "datatypes.hpp"

#include <algorithm>
#include <utility>

namespace hocket::mpi {
namespace {

int64_t element_bytes(MPI_Datatype type) {
  MPI_Count bytes = 0;
  const int result = HOCKET_REAL(MPI_Type_size_x)(type, &bytes);
  return result == MPI_SUCCESS && bytes != MPI_UNDEFINED ? static_cast<int64_t>(bytes) : 0;
}

// One block of bytes without gaps: what the engine can copy and cut anywhere between elements.
bool is_plain(MPI_Datatype type) {
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  MPI_Aint lowest = 0, extent = 0;
  HOCKET_REAL(MPI_Type_get_envelope)(type, &integers, &addresses, &types, &combiner);
  HOCKET_REAL(MPI_Type_get_extent)(type, &lowest, &extent);
  return combiner == MPI_COMBINER_NAMED && lowest == 0 && extent == element_bytes(type);
}

std::vector<std::pair<MPI_Datatype, const char*>> pairs() {
  return {{MPI_FLOAT_INT, "float_int"}, {MPI_DOUBLE_INT, "double_int"},
          {MPI_LONG_INT, "long_int"},   {MPI_SHORT_INT, "short_int"},
          {MPI_2INT, "2int"},           {MPI_LONG_DOUBLE_INT, "long_double_int"}};
}

std::vector<std::pair<MPI_Datatype, const char*>> symbols() {
  return {{MPI_PACKED, "packed"}, {MPI_WCHAR, "wchar"}, {MPI_CHARACTER, "character"}};
}

}  // namespace

/// Types of one kind that differ in size: its members are called by the name and the number of their bits.
// By size, because the same name has other sizes on other systems (long, Fortran's types): int64 says what it is.
struct Datatypes::Family {
  const char* name;
  unsigned groups;
  std::vector<MPI_Datatype> types;
};

std::vector<Datatypes::Family> Datatypes::families() {
  constexpr unsigned kArithmetic = kOrder | kSums, kNumbers = kArithmetic | kBits, kIntegers = kNumbers | kLogic;
  return {
      {"int",
       kIntegers,
       {MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_INT8_T, MPI_INT16_T, MPI_INT32_T,
        MPI_INT64_T}},
      {"int", kNumbers, {MPI_AINT, MPI_OFFSET, MPI_COUNT, MPI_INTEGER}},
      {"int", kNone, {MPI_CHAR}},
      {"uint",
       kIntegers,
       {MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T,
        MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T}},
      {"uint", kBits, {MPI_BYTE}},
      {"float", kArithmetic, {MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_REAL, MPI_DOUBLE_PRECISION}},
      {"complex",
       kSums,
       {MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX, MPI_COMPLEX, MPI_DOUBLE_COMPLEX}},
  };
}

Datatypes::Datatypes()
    : reductions_{{MPI_SUM, "SUM", kSums},     {MPI_PROD, "PRODUCT", kSums},    {MPI_MAX, "MAX", kOrder},
                  {MPI_MIN, "MIN", kOrder},    {MPI_BAND, "BAND", kBits},       {MPI_BOR, "BOR", kBits},
                  {MPI_BXOR, "BXOR", kBits},   {MPI_LAND, "LAND", kLogic},      {MPI_LOR, "LOR", kLogic},
                  {MPI_LXOR, "LXOR", kLogic},  {MPI_MINLOC, "MINLOC", kPlaces}, {MPI_MAXLOC, "MAXLOC", kPlaces},
                  {MPI_NO_OP, "NO_OP", kNone}, {MPI_REPLACE, "REPLACE", kNone}} {
  for (const auto& [type, name] : symbols()) add(type, name, kNone);
  for (const auto& [type, name] : pairs()) add(type, name, kPlaces);
  for (const MPI_Datatype type : {MPI_C_BOOL, MPI_LOGICAL}) add(type, "bool", kLogic);
  for (const Family& family : families()) {
    for (const MPI_Datatype type : family.types) {
      if (type == MPI_DATATYPE_NULL) continue;  // its size cannot be asked for
      add(type, family.name + std::to_string(8 * element_bytes(type)), family.groups);
    }
  }
}

void Datatypes::add(MPI_Datatype type, const std::string& name, unsigned groups) {
  if (type == MPI_DATATYPE_NULL) return;  // Fortran's, where there is no Fortran
  predefined_.try_emplace(type, Known{element_bytes(type), name, is_plain(type), groups});
}

TypeInfo Datatypes::of(MPI_Datatype type) const {
  const auto found = predefined_.find(type);
  if (found == predefined_.end()) return {element_bytes(type), base_name(type), is_plain(type)};
  const Known& known = found->second;
  return {known.bytes, known.name.c_str(), known.is_plain};
}

bool Datatypes::is_predefined(MPI_Op op) const {
  return std::ranges::any_of(reductions_, [op](const Reducer& known) { return known.op == op; });
}

bool Datatypes::is_defined(MPI_Op op, MPI_Datatype type) const {
  const auto found = predefined_.find(type);
  return found != predefined_.end() && std::ranges::any_of(reductions_, [&](const Reducer& known) {
           return known.op == op && (found->second.groups & known.group) != 0;
         });
}

const char* Datatypes::reduction(MPI_Op op) const {
  for (const Reducer& known : reductions_) {
    if (known.op == op) return known.name;
  }
  return "USER";
}

int64_t received_bytes(const MPI_Status& status) {
  MPI_Count bytes = 0;
  HOCKET_REAL(MPI_Get_elements_x)(&status, MPI_BYTE, &bytes);
  return static_cast<int64_t>(bytes);
}

const char* Datatypes::base_name(MPI_Datatype type) const {
  const auto found = predefined_.find(type);
  if (found != predefined_.end()) return found->second.name.c_str();
  int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
  HOCKET_REAL(MPI_Type_get_envelope)(type, &integers, &addresses, &types, &combiner);
  if (combiner == MPI_COMBINER_NAMED || types == 0) return "";
  std::vector<int> some_integers(static_cast<size_t>(integers));
  std::vector<MPI_Aint> some_addresses(static_cast<size_t>(addresses));
  std::vector<MPI_Datatype> parts(static_cast<size_t>(types));
  if (HOCKET_REAL(MPI_Type_get_contents)(type, integers, addresses, types, some_integers.data(), some_addresses.data(),
                                         parts.data()) != MPI_SUCCESS) {
    return "";
  }
  const char* name = nullptr;
  // Derived types are made of parts, in depth: they have a name only if all parts come down to one predefined type.
  for (MPI_Datatype& part : parts) {
    const char* const part_name = base_name(part);
    name = name == nullptr || name == part_name ? part_name : "";
    // MPI_Type_get_contents makes new handles of derived parts, which are ours to free.
    if (!predefined_.contains(part)) {
      HOCKET_REAL(MPI_Type_get_envelope)(part, &integers, &addresses, &types, &combiner);
      if (combiner != MPI_COMBINER_NAMED) HOCKET_REAL(MPI_Type_free)(&part);
    }
  }
  return name;
}

}  // namespace hocket::mpi
