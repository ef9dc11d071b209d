/// One flat JSON object on one line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket::mpi {

/// Grows member by member; `kind` is the value of "k".
class JsonLine {
 public:
  explicit JsonLine(std::string_view kind) { text_.append("{\"k\":\"").append(kind).append("\""); }

  JsonLine& add(std::string_view key, int64_t value) { return raw(key, std::to_string(value)); }
  JsonLine& add(std::string_view key, int value) { return add(key, int64_t{value}); }
  JsonLine& add(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
  JsonLine& add(std::string_view key, const char* value) { return add(key, std::string_view(value)); }

  JsonLine& add(std::string_view key, std::string_view value) {
    std::string quoted = "\"";
    for (const char c : value) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += static_cast<unsigned char>(c) - 0x20u < 0x5fu ? c : '?';  // names are ASCII, or nearly
    }
    return raw(key, quoted + '"');
  }

  template <class Number>
  JsonLine& add(std::string_view key, const std::vector<Number>& values) {
    std::string list = "[";
    for (const Number value : values) list.append(list.size() > 1 ? "," : "").append(std::to_string(value));
    return raw(key, list + ']');
  }

  std::string finish() const { return text_ + "}\n"; }

 private:
  JsonLine& raw(std::string_view key, std::string_view value) {
    text_.append(",\"").append(key).append("\":").append(value);
    return *this;
  }

  std::string text_;
};

}  // namespace hocket::mpi
