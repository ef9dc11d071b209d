/// Includes HOCKET_WRAPPERS once for each type of counts: functions with counts of type int and, since MPI 4, those of
/// the same names that end in _c, whose counts are MPI_Count. No include guard: each file of wrappers includes it.

#define HOCKET_ENDING
#define HOCKET_COUNT int
#define HOCKET_DISPLACEMENT int
#include HOCKET_WRAPPERS

#if HOCKET_LARGE_COUNTS
#undef HOCKET_ENDING
#undef HOCKET_COUNT
#undef HOCKET_DISPLACEMENT
#define HOCKET_ENDING _c
#define HOCKET_COUNT MPI_Count
#define HOCKET_DISPLACEMENT MPI_Aint
#include HOCKET_WRAPPERS
#endif

#undef HOCKET_ENDING
#undef HOCKET_COUNT
#undef HOCKET_DISPLACEMENT
