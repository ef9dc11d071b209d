// What RCCL's build has of other languages or makes as it runs: its kernels, which do nothing, and its commit.
#include "device/common.h"

const char* rcclGitHash = "stand-ins";

void ncclDevKernel_Generic_1(ncclDevKernelArgsDefaultStorage const) {}
void ncclDevKernel_Generic_2(ncclDevKernelArgsDefaultStorage const) {}
void ncclDevKernel_Generic_4(ncclDevKernelArgsDefaultStorage const) {}
void ncclDevKernelDebug_Generic_1(ncclDevKernelArgsDefaultStorage const) {}
void ncclDevKernelDebug_Generic_2(ncclDevKernelArgsDefaultStorage const) {}
void ncclDevKernelDebug_Generic_4(ncclDevKernelArgsDefaultStorage const) {}

ncclResult_t ncclLaunchOneRank(void*, const void*, size_t, ncclDevRedOpFull, ncclDataType_t, hipStream_t) {
  return ncclSuccess;
}

// Connections of all channels and ranks are made when a communicator is, with buffers of gigabytes, and no choice
// depends on them: RCCL is linked so that these stand before its own.
extern "C" {
ncclResult_t __real__Z24ncclTransportRingConnectP8ncclComm(ncclComm*);
ncclResult_t __real__Z24ncclTransportTreeConnectP8ncclComm(ncclComm*);

static bool connects() { return getenv("HOCKET_CONNECT") != nullptr; }

ncclResult_t __wrap__Z24ncclTransportRingConnectP8ncclComm(ncclComm* comm) {
  return connects() ? __real__Z24ncclTransportRingConnectP8ncclComm(comm) : ncclSuccess;
}
ncclResult_t __wrap__Z24ncclTransportTreeConnectP8ncclComm(ncclComm* comm) {
  return connects() ? __real__Z24ncclTransportTreeConnectP8ncclComm(comm) : ncclSuccess;
}
}
