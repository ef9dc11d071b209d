extern "C" __attribute__((visibility("default"))) const char* hocket_profiler_name() { return "hocket"; }
