// What glibc has from 2.32 on: here never true, so that reference counts are always atomic.
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;
