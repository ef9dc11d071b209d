#include "hocket/schedule/pattern.hpp"

#include <algorithm>

#include "hocket/error.hpp"

namespace hocket::schedule {

void check(const Pattern& pattern) {
  const size_t count = pattern.step.size();
  const auto negative = [](int32_t number) { return number < 0; };
  for (const auto column : {pattern.connection, pattern.sends, pattern.delivers}) {
    if (column.size() != count) throw ScheduleError("the columns of the pattern differ in length");
    if (std::ranges::any_of(column, negative)) throw ScheduleError("a number in the pattern is negative");
  }
  if (pattern.reduce.size() != count || (!pattern.own.empty() && pattern.own.size() != count)) {
    throw ScheduleError("the columns of the pattern differ in length");
  }
  if (!std::ranges::is_sorted(pattern.step)) throw ScheduleError("the steps of the pattern must ascend");
}

}  // namespace hocket::schedule
