/// The file a profiled process leaves, `<host>.<pid>.<start>.ncclprofile`: a header, then records of one size. All
/// integers are little-endian, all times nanoseconds. `chakra/importers/nccl/profile.py` reads it.
///
/// A record is written in place while its event runs, so that a process that is killed or hangs leaves what it had
/// started. A slot whose `kind` is 0 was never taken; which the file has at its end, and a killed process anywhere.
#pragma once
#include <cstddef>
#include <cstdint>

namespace hocket::nccl {

constexpr char kMagic[8] = {'H', 'O', 'C', 'K', 'N', 'C', 'C', 'L'};
constexpr uint32_t kFormat = 1;
/// Where records begin, and how many are mapped at a time: both whole pages on machines with pages up to 64 KiB.
constexpr size_t kHeaderBytes = 1 << 16;
constexpr size_t kSegmentRecords = 4096;

struct FileHeader {
  char magic[8];
  uint32_t format;
  uint32_t record_bytes;
  uint64_t header_bytes;
  uint64_t events;       // Which kinds were asked for.
  int64_t epoch_ns;      // The same moment by the clock since the epoch
  int64_t monotonic_ns;  // and by the one that records use.
  uint32_t process;
  uint32_t pool;         // Records that can be under way at once.
  int32_t error;         // errno of the file's end: records could not be written any more; 0 otherwise.
  uint32_t place;        // The rank that the process's launcher gave it + 1; 0: none.
  uint64_t dropped[32];  // Events that got no record, by the number of their kind's bit.
  uint64_t orphans;      // Records whose parent was not known: dropped, recycled, or of another process.
  uint64_t late;         // Stops and states of events that were no longer known.
  char host[64];
};
static_assert(sizeof(FileHeader) == 400);

/// The kind of record that says what a communicator is: `communicator` is its number, the other kinds are EventType.
constexpr uint32_t kCommunicator = 1 << 16;

/// What a call is, and what its time is compared by.
struct Call {
  char function[16];
  char datatype[16];
  char algorithm[16];
  char protocol[16];
  uint64_t count;
  uint32_t channels;
  uint32_t kind;
};

/// What the fields hold that differ by kind:
///
///     kind               sequence   count       channels  peer  warps    bytes          function
///     collective         of NCCL    elements    number    root  warps                   function
///     point to point                elements    number    peer                          function
///     copy collective    of NCCL    elements    batches   root           batch size     function; algorithm: strategy
///     collective API                elements              root  captured                function
///     point to point API            elements                    captured                function
///     group API                     depth                       captured
///     proxy operation    pid        steps       channel   peer  sends    chunk bytes
///     proxy step         step                                            transferred
///     proxy control      last state appended
///     kernel channel                            channel
///     kernel phase       phase                  channel                                 name
///     copy batch                    operations                           bytes
///     copy sync                     ranks
///     net plugin         id
///     communicator       id         ranks       nodes     rank  GPU + 1                 its name, 64 bytes; GPU: its
///                                                                                       number in the process, 0:
///                                                                                       not told
struct Record {
  uint32_t communicator;
  int32_t peer;
  uint64_t parent;  // Number of the parent's record + 1; 0: none known.
  int64_t start_ns;
  int64_t stop_ns;        // A collective's or message's: enqueued. 0: not stopped.
  int64_t end_ns;         // When the last of its children stopped; 0: none did.
  uint64_t gpu_start_ns;  // By the GPU's timer, over all of its kernel channels; 0: not known.
  uint64_t gpu_stop_ns;
  uint32_t children_started;
  uint32_t children_stopped;  // Complete: as many as started, and itself stopped.
  uint64_t sequence;
  uint64_t bytes;
  uint64_t user_tag;
  uint32_t warps;
  uint32_t symmetric;  // The collective ran a symmetric kernel.
  Call call;
  char variant[16];  // Of the kernel.
};
static_assert(sizeof(Call) == 80 && sizeof(Record) == 192 && offsetof(Record, call) == 96);
static_assert(offsetof(Record, sequence) == 64 && offsetof(Record, variant) == 176);
static_assert(kHeaderBytes % (1 << 16) == 0 && kSegmentRecords * sizeof(Record) % (1 << 16) == 0);

}  // namespace hocket::nccl
