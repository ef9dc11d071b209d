// Tells callgrind, which a process runs under, when to count: for `hocket.bench.speed.counted`, by ctypes. Outside of
// valgrind the calls do nothing.

#include <valgrind/callgrind.h>

extern "C" void begin_counting() {
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
}

extern "C" void end_counting(const char* name) {
  CALLGRIND_STOP_INSTRUMENTATION;
  CALLGRIND_DUMP_STATS_AT(name);
}
