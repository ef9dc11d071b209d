#include "bind.hpp"
#include "hocket/error.hpp"
#include "hocket/translator/lowering.hpp"
#include "hocket/translator/markup.hpp"
#include "hocket/translator/program_text.hpp"

namespace hocket::bind {
namespace {

nb::tuple lower(int32_t num_ranks, int32_t num_blocks, In<int32_t> block, In<int32_t> rank, In<int32_t> count,
                In<int64_t> reads, In<int64_t> writes, In<int64_t> message, In<int64_t> after, In<int64_t> priority,
                int64_t max_clock_entries) {
  const size_t size = block.size();
  if (rank.size() != size || count.size() != size || reads.size() != size || writes.size() != size ||
      message.size() != size || after.size() != size || priority.size() != size) {
    throw ScheduleError("operation columns differ in length");
  }
  std::vector<translator::Operation> operations;
  operations.reserve(size);
  for (size_t o = 0; o < size; o++) {
    operations.push_back({block.data()[o], rank.data()[o], count.data()[o], reads.data()[o], writes.data()[o],
                          message.data()[o], after.data()[o], priority.data()[o]});
  }
  translator::Lowering lowering;
  {
    nb::gil_scoped_release release;
    lowering = translator::lower(operations, num_ranks, num_blocks, max_clock_entries);
  }
  return nb::make_tuple(give(std::move(lowering.order)), give(std::move(lowering.first_dependency)),
                        give(std::move(lowering.dependencies)));
}

nb::dict read_markup(nb::bytes text) {
  const std::string_view view(text.c_str(), text.size());
  translator::Markup markup = unlocked([&] { return translator::read_markup(view); });
  nb::list strings;
  for (const std::string_view string : markup.strings) strings.append(nb::bytes(string.data(), string.size()));
  nb::dict columns;
  columns["level"] = give(std::move(markup.level));
  columns["parent"] = give(std::move(markup.parent));
  columns["start"] = give(std::move(markup.start));
  columns["flaws"] = give(std::move(markup.flaws));
  columns["element"] = give(std::move(markup.element));
  columns["key"] = give(std::move(markup.key));
  columns["value"] = give(std::move(markup.value));
  columns["strings"] = strings;
  columns["depth"] = markup.depth;
  columns["stop"] = static_cast<int>(markup.stop);
  columns["stopped_at"] = markup.stopped_at;
  return columns;
}

nb::str gpu_elements(In<int64_t> chunks, In<int64_t> first_block, In<int32_t> send, In<int32_t> receive,
                     In<int32_t> channel, In<int64_t> first_step, In<uint8_t> type, In<uint8_t> source_buffer,
                     In<int32_t> source_offset, In<uint8_t> target_buffer, In<int32_t> target_offset, In<int32_t> count,
                     In<int32_t> depend_block, In<int32_t> depend_step, In<uint8_t> has_dependents,
                     const std::vector<std::string>& types, const std::vector<std::string>& buffers) {
  const translator::ProgramColumns columns{
      view(chunks),        view(first_block), view(send),          view(receive),       view(channel),
      view(first_step),    view(type),        view(source_buffer), view(source_offset), view(target_buffer),
      view(target_offset), view(count),       view(depend_block),  view(depend_step),   view(has_dependents)};
  const std::string text = unlocked([&] { return translator::gpu_elements(columns, types, buffers); });
  return nb::str(text.data(), text.size());
}

}  // namespace

void bind_translator(nb::module_& m) {
  m.def("lower", &lower, "num_ranks"_a, "num_blocks"_a, "block"_a, "rank"_a, "count"_a, "reads"_a, "writes"_a,
        "message"_a, "after"_a, "priority"_a, "max_clock_entries"_a);
  m.def("gpu_elements", &gpu_elements, "chunks"_a, "first_block"_a, "send"_a, "receive"_a, "channel"_a, "first_step"_a,
        "type"_a, "source_buffer"_a, "source_offset"_a, "target_buffer"_a, "target_offset"_a, "count"_a,
        "depend_block"_a, "depend_step"_a, "has_dependents"_a, "types"_a, "buffers"_a);
  m.def("read_markup", &read_markup, "text"_a);
}

}  // namespace hocket::bind
