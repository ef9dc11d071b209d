// Before every C++ file: what libstdc++ was configured to find in this machine's glibc and an older one lacks.
#pragma once

#ifdef __cplusplus
#include <bits/c++config.h>
#undef _GLIBCXX_USE_PTHREAD_COND_CLOCKWAIT  // 2.30
#endif
