// What the stand-ins for CUDA, HIP, NVML and AMD SMI agree on: the GPUs of this host, their memory, their streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace hocket::stand_in {

/** The GPUs of this host: HOCKET_GPUS names their PCI bus ids, HOCKET_SM their compute capability (90 is 9.0). */
const std::vector<std::string>& bus_ids();
int compute_capability();
/** Whether GPUs reach each other's memory by multicast (NVSwitch's, for NVLS): HOCKET_MULTICAST is not 0. */
bool has_multicast();

int& current_device();

/** Memory of the current device: pages come with their first use. Null when the address space is at its end. */
void* allocate(size_t bytes);
bool release(void* start);
/** As memset, but whole pages of zeros take no memory: they are given back and come, as zeros, with their next use. */
void fill(void* start, int value, size_t bytes);
struct Allocation {
  char* start;
  size_t bytes;
  int device;  // -1: of the host
};
/** The allocation that an address lies in; `bytes` 0 where it is nobody's. */
Allocation allocation_of(const void* address);
void remember(void* start, size_t bytes, int device);
void forget(void* start);

/** The name of the NVLink domain of several hosts that this one belongs to; empty where its NVLinks join no others. */
const std::string& fabric();

/** Multicast: memory that is written on every device at once. What is bound to an object is written in the object's own
 * memory `file`, so that every process that has the object finds it. */
bool bind_multicast(int file, size_t offset, int memory_file, size_t memory_offset, size_t bytes);
void map_multicast(void* start, size_t bytes, int file);
void unmap_multicast(void* start);
bool is_multicast(const void* address);
/** Where the bytes behind a multicast address lie, a copy for each device. */
std::vector<char*> copies_of(const void* multicast);

/** Work of a stream: done in order, by a thread of its own. */
void enqueue(void* stream, std::function<void()> work);
void drain(void* stream);

}  // namespace hocket::stand_in

/** What a kernel is given: NCCL launches all of its kernels with one buffer of arguments. */
struct HocketLaunch {
  const void* symbol;
  const void* arguments;
  size_t argument_bytes;
  unsigned blocks;
  unsigned threads;
  long step;  // of the job: what hocketStep said last before the launch
};

extern "C" {
/** Who runs kernels: set by the library that knows them; without one a launch is counted and does nothing. */
void hocketRunKernelsBy(void (*runner)(const HocketLaunch&));
void hocketStep(long step);
/** What tells a slow run from one that hangs: memory was made, a rank heard of another, a stream went on, a kernel's
 * part came further. */
void hocketMoved();
long hocketMoves();
long hocketLaunches();
/** Names, one a line, what NCCL asked the driver for that the stand-in lacks. */
const char* hocketLacking();
}
