#pragma once

#include <istream>
#include <limits>
#include <string>

#include "hocket/error.hpp"

namespace hocket::executor {

/// Numbers and names with whitespace between them: the one text that a launcher and the engine share.
class TextReader {
 public:
  TextReader(std::istream& text, std::string source) : text_(text), source_(std::move(source)) {}

  int64_t number() {
    int64_t number = 0;
    if (!(text_ >> number)) fail("ends early, or holds something else than a number");
    return number;
  }

  int32_t small_number() {
    const int64_t found = number();
    if (found < std::numeric_limits<int32_t>::min() || found > std::numeric_limits<int32_t>::max()) {
      fail(std::to_string(found) + " is too large");
    }
    return static_cast<int32_t>(found);
  }

  std::string name() {
    std::string name;
    if (!(text_ >> name)) fail("ends early");
    return name;
  }

  void end() {
    std::string more;
    if (text_ >> more) fail("goes on behind its end with " + more);
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw FormatError(source_ + ": not what Hocket's launcher wrote: " + why);
  }

 private:
  std::istream& text_;
  std::string source_;
};

}  // namespace hocket::executor
