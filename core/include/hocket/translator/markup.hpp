#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace hocket::translator {

/// What an element is to the loaders of MSCCL XML: they keep `algo` > `gpu` > `tb` > `step` and skip everything else.
enum class Level : uint8_t { kAlgorithm, kGpu, kThreadBlock, kStep, kSkipped };

/// What the loaders overlook or trip over in an element; bits of `Markup::flaws`.
enum Flaw : uint8_t {
  kClosedByOtherName = 1,
  kDroppedAttributes = 2,  ///< more than the 16 that fit; an extra space takes a place too
  kHasChild = 4,           ///< of a step, which may have none
};

/// Why the tokenizer stops.
enum class Stop : uint8_t {
  kNone,
  kEndOfFile,
  kTextOutside,
  kLongName,
  kUnquotedValue,
  kValueWithoutAttribute,
  kBrokenElement,
  kBrokenClosing,
  kUnclosed,
};

/// The elements of a text in its order, and the attributes of those that are kept. Strings are ranges of the text that
/// end at a NUL, as the loaders see them; `strings` lists each once, `key` and `value` are positions in it.
struct Markup {
  std::vector<uint8_t> level;
  std::vector<int64_t> parent;  ///< -1: none
  std::vector<int64_t> start;   ///< of its first character
  std::vector<uint8_t> flaws;
  std::vector<int64_t> element;  ///< of each attribute
  std::vector<int32_t> key;
  std::vector<int32_t> value;
  std::vector<std::string_view> strings;
  int64_t depth = 0;  ///< of the deepest element
  Stop stop = Stop::kNone;
  int64_t stopped_at = 0;  ///< where the element starts, or the text, that it stops at
};

/// Splits a text as NCCL's hand-written tokenizer does, which all loaders of MSCCL XML share: it is narrower than XML,
/// and in places wider. Never fails: `Markup::stop` says where it gives up. Views are into `text`.
Markup read_markup(std::string_view text);

}  // namespace hocket::translator
