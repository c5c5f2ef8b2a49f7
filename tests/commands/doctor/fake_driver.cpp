// SPDX-License-Identifier: Apache-2.0
// A fake libcuda with one GPU. WARPSMITH_FAKE_CUINIT is the result of cuInit,
// WARPSMITH_FAKE_CUDA_VERSION the version in place of 13000,
// WARPSMITH_FAKE_PAGEABLE (0 or 1) whether kernels reach the host's memory.
#include <cstdlib>
#include <cstring>

extern "C" {
// NOLINTBEGIN(readability-identifier-naming): the driver's names

int cuInit(unsigned) {
  const char* answer = std::getenv("WARPSMITH_FAKE_CUINIT");
  return answer == nullptr ? 0 : std::atoi(answer);
}
int cuDriverGetVersion(int* version) {
  const char* older = std::getenv("WARPSMITH_FAKE_CUDA_VERSION");
  *version = older == nullptr ? 13000 : std::atoi(older);
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
int cuDeviceGet(int* device, int index) {
  *device = index;
  return 0;
}
int cuDeviceGetName(char* name, int bytes, int) {
  std::strncpy(name, "stand-in", static_cast<size_t>(bytes));
  return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = size_t{1} << 36U;
  return 0;
}
int cuDeviceGetAttribute(int* value, int which, int) {
  constexpr int pageable_memory_access = 88;
  const char* reaches = std::getenv("WARPSMITH_FAKE_PAGEABLE");
  *value = which == pageable_memory_access && reaches != nullptr ? std::atoi(reaches) : 9;
  return 0;
}
int cuDeviceGetPCIBusId(char* address, int bytes, int) {
  std::strncpy(address, "0000:1B:00.0", static_cast<size_t>(bytes));
  return 0;
}
// NOLINTEND(readability-identifier-naming)
}
