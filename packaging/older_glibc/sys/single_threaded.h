// In place of glibc's header of this name, which came with 2.32: libstdc++ asks it whether atomic operations are
// needed.
#pragma once

#ifdef __cplusplus
extern "C"
#endif
    __attribute__((visibility("hidden"))) extern char __libc_single_threaded;
