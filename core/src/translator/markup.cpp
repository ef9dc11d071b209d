#include "hocket/translator/markup.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace hocket::translator {
namespace {

constexpr size_t kLongestName = 254;  ///< with its terminator
constexpr int kMostAttributes = 16;

enum class Kind : uint8_t { kOpen, kClose, kSingle, kNone };

constexpr bool ends_name(char c) { return c == ' ' || c == '>' || c == '/' || c == '\n' || c == '\r'; }

/// Reads as the runtimes' own parser does (`xmlGetToken`, `xmlGetValue` and `xmlGetNode` of NCCL's xml.cc), which is no
/// XML: a fixed number of attributes, names cut at a length, no entities, values ended by a double quote only. What
/// they drop or misread must be misread here too, else a file judged right would run wrong.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text), has_nul_(text.find('\0') != std::string_view::npos) {}

  Markup run() {
    while (true) {
      const Kind kind = element();
      if (markup_.stop != Stop::kNone) break;
      if (kind == Kind::kNone) {
        if (!open_.empty()) fail(Stop::kUnclosed, markup_.start[open_.back().row]);
        break;
      }
      if (kind == Kind::kClose && !open_.empty()) {
        close();
      } else {
        add(kind);
      }
    }
    return std::move(markup_);
  }

 private:
  struct Attribute {
    std::string_view key;
    std::string_view value;
  };
  struct Open {
    int64_t row;
    std::string_view name;
  };

  /// Their strings are C's: what comes behind a zero byte is not there.
  std::string_view until_nul(std::string_view text) const { return has_nul_ ? text.substr(0, text.find('\0')) : text; }

  void fail(Stop stop, int64_t at) {
    markup_.stop = stop;
    markup_.stopped_at = at;
  }

  bool next(char& c) {
    if (at_ == text_.size()) {
      fail(Stop::kEndOfFile, start_);
      return false;
    }
    c = text_[at_++];
    return true;
  }

  /// Reads a name and, after '=', a value; `last` is the character that ended them. A value starts with a quote of
  /// either kind and ends with a double one.
  bool token(std::string_view& name, std::string_view* value, char& last) {
    const size_t first = at_;
    while (next(last)) {
      const size_t length = at_ - 1 - first;
      if (last == '=') {
        name = until_nul(text_.substr(first, length));
        if (value != nullptr) return quoted(*value, last);
        fail(Stop::kValueWithoutAttribute, start_);
        return false;
      }
      if (length == kLongestName) {
        fail(Stop::kLongName, start_);
        return false;
      }
      if (ends_name(last)) {
        name = until_nul(text_.substr(first, length));
        return true;
      }
    }
    return false;
  }

  bool quoted(std::string_view& value, char& last) {
    if (!next(last)) return false;
    if (last != '"' && last != '\'') {
      fail(Stop::kUnquotedValue, start_);
      return false;
    }
    const size_t first = at_, end = text_.find('"', first);
    at_ = end == std::string_view::npos ? text_.size() : end + 1;
    value = until_nul(text_.substr(first, end - first));
    return next(last);
  }

  /// Reads up to the end of the next element's tag; comments are skipped.
  Kind element() {
    while (true) {
      at_ = text_.find_first_not_of(" \n\r", at_);
      if (at_ == std::string_view::npos) {
        at_ = text_.size();
        return Kind::kNone;
      }
      start_ = static_cast<int64_t>(at_);
      if (text_[at_++] != '<') {
        fail(Stop::kTextOutside, start_);
        return Kind::kNone;
      }
      char last;
      if (!token(name_, nullptr, last)) return Kind::kNone;
      if (!name_.starts_with("!--")) return tag(last);
      const size_t end = text_.find("-->", static_cast<size_t>(start_) + 4);
      if (end == std::string_view::npos) {
        fail(Stop::kEndOfFile, start_);
        return Kind::kNone;
      }
      at_ = end + 3;
    }
  }

  Kind tag(char last) {
    attributes_.clear();
    dropped_ = false;
    if (name_.empty() && last == '/') {
      if (!token(name_, nullptr, last)) return Kind::kNone;
      if (last != '>') fail(Stop::kBrokenClosing, start_);
      return Kind::kClose;
    }
    while (last == ' ') {
      Attribute attribute;
      if (!token(attribute.key, &attribute.value, last)) return Kind::kNone;
      if (attributes_.size() < kMostAttributes) {
        attributes_.push_back(attribute);
      } else {
        dropped_ = true;
      }
    }
    Kind kind = Kind::kOpen;
    if (last == '/') {
      kind = Kind::kSingle;
      std::string_view ignored;
      if (!token(ignored, nullptr, last)) return Kind::kNone;
    }
    if (last != '>') fail(Stop::kBrokenElement, start_);
    return kind;
  }

  void close() {
    const Open& open = open_.back();
    const bool kept = static_cast<Level>(markup_.level[open.row]) != Level::kSkipped;
    if (kept && open.name != name_) markup_.flaws[open.row] |= kClosedByOtherName;
    open_.pop_back();
  }

  void add(Kind kind) {
    const auto row = static_cast<int64_t>(markup_.level.size());
    const Level level = level_inside();
    markup_.level.push_back(static_cast<uint8_t>(level));
    markup_.parent.push_back(open_.empty() ? -1 : open_.back().row);
    markup_.start.push_back(start_);
    markup_.flaws.push_back(dropped_ && level != Level::kSkipped ? kDroppedAttributes : 0);
    markup_.depth = std::max(markup_.depth, static_cast<int64_t>(open_.size()) + 1);
    if (level != Level::kSkipped) {
      for (size_t a = 0; a < attributes_.size(); a++) {
        markup_.element.push_back(row);
        markup_.key.push_back(position(attributes_[a].key, key_before_[a]));
        markup_.value.push_back(position(attributes_[a].value, value_before_[a]));
      }
    }
    if (kind != Kind::kSingle) open_.push_back({row, name_});
  }

  Level level_inside() {
    if (open_.empty()) return name_ == "algo" ? Level::kAlgorithm : Level::kSkipped;
    const int64_t row = open_.back().row;
    switch (static_cast<Level>(markup_.level[row])) {
      case Level::kAlgorithm:
        return name_ == "gpu" ? Level::kGpu : Level::kSkipped;
      case Level::kGpu:
        return name_ == "tb" ? Level::kThreadBlock : Level::kSkipped;
      case Level::kThreadBlock:
        return name_ == "step" ? Level::kStep : Level::kSkipped;
      case Level::kStep:
        markup_.flaws[row] |= kHasChild;
        return Level::kSkipped;
      default:
        return Level::kSkipped;
    }
  }

  /// The text's number. `before` is that of the string in the same place of the element before: often the same.
  int32_t position(std::string_view text, int32_t& before) {
    if (before < 0 || markup_.strings[before] != text) {
      const auto [found, added] = positions_.try_emplace(text, static_cast<int32_t>(markup_.strings.size()));
      if (added) markup_.strings.push_back(text);
      before = found->second;
    }
    return before;
  }

  std::string_view text_;
  bool has_nul_;
  size_t at_ = 0;
  int64_t start_ = 0;
  std::string_view name_;
  std::vector<Attribute> attributes_;
  bool dropped_ = false;
  std::vector<Open> open_;
  std::unordered_map<std::string_view, int32_t> positions_;
  std::vector<int32_t> key_before_ = std::vector<int32_t>(kMostAttributes, -1);
  std::vector<int32_t> value_before_ = std::vector<int32_t>(kMostAttributes, -1);
  Markup markup_;
};

}  // namespace

Markup read_markup(std::string_view text) { return Reader(text).run(); }

}  // namespace hocket::translator
