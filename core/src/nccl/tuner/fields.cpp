#include "fields.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "hocket/error.hpp"

namespace hocket::nccl {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr size_t kMostShown = 40;  // Bytes of a field that a message repeats.

char lower(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }

/// Names are compared without case and underscores: NVIDIA's example writes `allgather`, others `all_gather`.
std::string folded(std::string_view name) {
  std::string letters;
  for (const char letter : name) {
    if (letter != '_') letters += lower(letter);
  }
  return letters;
}

/// The field for a message: printable ASCII, not too long.
std::string quoted(std::string_view field) {
  std::string text = "'";
  for (const char letter : field.substr(0, kMostShown)) text += letter >= ' ' && letter <= '~' ? letter : '?';
  return text + (field.size() > kMostShown ? "...'" : "'");
}

/// Letters to change, add or take away to make the one from the other.
/// Levenshtein's distance in one row of memory, for "did you mean".
size_t distance(std::string_view one, std::string_view other) {
  std::vector<size_t> row(other.size() + 1);
  for (size_t j = 0; j <= other.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= one.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= other.size(); ++j) {
      const size_t replaced = diagonal + (one[i - 1] != other[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view unquoted(std::string_view field) {
  field = without_blanks(field);
  const bool quotes = field.size() >= 2 && field.front() == '"' && field.back() == '"';
  return quotes ? without_blanks(field.substr(1, field.size() - 2)) : field;
}

bool unset(std::string_view field) { return field.empty() || field == "-1"; }

[[noreturn]] void refuse(std::string_view column, std::string_view field, const std::string& expected) {
  throw FormatError(std::string(column) + " " + quoted(field) + ": expected " + expected);
}

}  // namespace

std::string_view without_blanks(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

std::vector<std::string_view> split_row(std::string_view row) {
  std::vector<std::string_view> fields;
  for (size_t at = 0; at <= row.size();) {
    const size_t end = std::min(row.find(',', at), row.size());
    fields.push_back(unquoted(row.substr(at, end - at)));
    at = end + 1;
  }
  return fields;
}

int32_t parse_name(std::string_view field, std::string_view kind, std::span<const std::string_view> names) {
  const std::string wanted = folded(field.substr(0, kMostShown));
  std::string known;
  std::string_view nearest;
  size_t least = wanted.size();
  for (size_t at = 0; at < names.size(); ++at) {
    const std::string name = folded(names[at]);
    if (name == wanted && field.size() <= kMostShown) return static_cast<int32_t>(at);
    const size_t apart = distance(wanted, name);
    if (apart < least) least = apart, nearest = names[at];
    known += (known.empty() ? "" : ", ") + std::string(names[at]);
  }
  const std::string meant = nearest.empty() ? "" : "; did you mean " + std::string(nearest) + "?";
  throw FormatError("unknown " + std::string(kind) + " " + quoted(field) + meant + " (known: " + known + ")");
}

int32_t parse_name_or_any(std::string_view field, std::string_view kind, std::span<const std::string_view> names) {
  return unset(field) ? kAny : parse_name(field, kind, names);
}

Range parse_range(std::string_view field, std::string_view column) {
  Range range;
  if (unset(field)) return range;
  const size_t dots = field.find("..");
  const std::string_view first = field.substr(0, dots);
  const std::string_view last = dots == field.npos ? first : field.substr(dots + 2);
  const auto least = first.empty() ? range.least : number<int32_t>(first);
  const auto most = last.empty() ? range.most : number<int32_t>(last);
  // A pair of dots alone would mean any, which -1 says already; more likely a number was forgotten.
  const bool some = !first.empty() || !last.empty();
  if (!some || !least || !most || *least < 0 || *most < *least) {
    refuse(column, field, "a number, a range such as 2..8, 16.. or ..8, or -1 for any");
  }
  return {*least, *most};
}

uint64_t parse_size(std::string_view field, std::string_view column, uint64_t otherwise) {
  if (unset(field)) return otherwise;
  constexpr std::string_view kUnits[] = {"", "KiB", "MiB", "GiB", "TiB"};
  const size_t digits = std::min(field.find_first_not_of("0123456789"), field.size());
  const std::string_view unit = without_blanks(field.substr(digits));
  const auto value = number<uint64_t>(field.substr(0, digits));
  const auto* const found = unit == "B" ? kUnits : std::find(std::begin(kUnits), std::end(kUnits), unit);
  const auto shift = 10 * (found - kUnits);
  if (found == std::end(kUnits) || !value || *value > uint64_t{std::numeric_limits<int64_t>::max()} >> shift) {
    refuse(column, field, "bytes such as 65536, 64KiB, 4MiB or 1GiB, or -1");
  }
  return *value << shift;
}

int32_t parse_channels(std::string_view field, int32_t most) {
  if (unset(field)) return 0;
  const auto value = number<int32_t>(field);
  if (!value || *value < 0 || *value > most) {
    refuse("channels", field, "1 to " + std::to_string(most) + ", or -1 for NCCL's own number");
  }
  return *value;
}

double parse_constant(std::string_view field) {
  const auto value = number<double>(field);
  if (!value || !std::isfinite(*value) || std::signbit(*value)) {
    refuse("value", field, "a number of us or GB/s that is not negative");
  }
  return *value;
}

}  // namespace hocket::nccl
