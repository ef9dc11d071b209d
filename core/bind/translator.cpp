#include "bind.hpp"
#include "hocket/error.hpp"
#include "hocket/translator/lowering.hpp"

namespace hocket::bind {
namespace {

nb::tuple lower(int32_t num_ranks, int32_t num_blocks, In<int32_t> block, In<int32_t> rank, In<int32_t> count,
                In<int64_t> reads, In<int64_t> writes, In<int64_t> message, In<int64_t> after, In<int64_t> priority) {
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
    lowering = translator::lower(operations, num_ranks, num_blocks);
  }
  return nb::make_tuple(give(std::move(lowering.order)), give(std::move(lowering.first_dependency)),
                        give(std::move(lowering.dependencies)));
}

}  // namespace

void bind_translator(nb::module_& m) {
  m.def("lower", &lower, "num_ranks"_a, "num_blocks"_a, "block"_a, "rank"_a, "count"_a, "reads"_a, "writes"_a,
        "message"_a, "after"_a, "priority"_a);
}

}  // namespace hocket::bind
