#include "hocket/translator/program_text.hpp"

#include <array>
#include <charconv>
#include <string_view>

#include "hocket/error.hpp"

namespace hocket::translator {
namespace {

/// What a step's line takes at most, but for the names: nine numbers, and what is around them.
constexpr size_t kStepBytes = 160;

class Writer {
 public:
  explicit Writer(size_t expected) { text_.reserve(expected); }

  Writer& operator<<(std::string_view part) {
    text_ += part;
    return *this;
  }
  Writer& operator<<(int64_t number) {
    std::array<char, 20> digits;
    const auto [end, _] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    text_.append(digits.data(), end);
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void check(bool fits) {
  if (!fits) throw ScheduleError("columns of a program differ in length");
}

/// Whether bounds ascend and end with so many rows.
bool are_bounds(std::span<const int64_t> bounds, size_t rows) {
  if (bounds.empty() || bounds.front() != 0 || bounds.back() != static_cast<int64_t>(rows)) return false;
  for (size_t at = 1; at < bounds.size(); at++) {
    if (bounds[at] < bounds[at - 1]) return false;
  }
  return true;
}

bool are_names(std::span<const uint8_t> column, size_t rows, const std::vector<std::string>& names) {
  if (column.size() != rows) return false;
  for (const uint8_t number : column) {
    if (number >= names.size()) return false;
  }
  return true;
}

}  // namespace

std::string gpu_elements(const ProgramColumns& columns, const std::vector<std::string>& types,
                         const std::vector<std::string>& buffers) {
  const size_t blocks = columns.send.size(), steps = columns.count.size();
  check(are_bounds(columns.first_block, blocks) && are_bounds(columns.first_step, steps));
  check(columns.chunks.size() == 3 * (columns.first_block.size() - 1) && columns.first_step.size() == blocks + 1);
  check(columns.receive.size() == blocks && columns.channel.size() == blocks && columns.source_offset.size() == steps);
  check(columns.target_offset.size() == steps && columns.depend_block.size() == steps);
  check(columns.depend_step.size() == steps && columns.has_dependents.size() == steps);
  check(are_names(columns.type, steps, types) && are_names(columns.source_buffer, steps, buffers));
  check(are_names(columns.target_buffer, steps, buffers));

  Writer out(steps * kStepBytes + blocks * 80);
  for (size_t rank = 0; rank + 1 < columns.first_block.size(); rank++) {
    const int64_t* const chunks = columns.chunks.data() + 3 * rank;
    out << "  <gpu id=\"" << static_cast<int64_t>(rank) << "\" i_chunks=\"" << chunks[0] << "\" o_chunks=\""
        << chunks[1] << "\" s_chunks=\"" << chunks[2] << "\">\n";
    const int64_t first = columns.first_block[rank];
    for (int64_t block = first; block < columns.first_block[rank + 1]; block++) {
      out << "    <tb id=\"" << block - first << "\" send=\"" << columns.send[block] << "\" recv=\""
          << columns.receive[block] << "\" chan=\"" << columns.channel[block] << "\">\n";
      const int64_t begin = columns.first_step[block];
      for (int64_t step = begin; step < columns.first_step[block + 1]; step++) {
        out << "      <step s=\"" << step - begin << "\" type=\"" << types[columns.type[step]] << "\" srcbuf=\""
            << buffers[columns.source_buffer[step]] << "\" srcoff=\"" << columns.source_offset[step] << "\" dstbuf=\""
            << buffers[columns.target_buffer[step]] << "\" dstoff=\"" << columns.target_offset[step] << "\" cnt=\""
            << columns.count[step] << "\" depid=\"" << columns.depend_block[step] << "\" deps=\""
            << columns.depend_step[step] << "\" hasdep=\"" << int64_t{columns.has_dependents[step] != 0} << "\"/>\n";
      }
      out << "    </tb>\n";
    }
    out << "  </gpu>\n";
  }
  return out.take();
}

}  // namespace hocket::translator
