// SPDX-License-Identifier: Apache-2.0
// A fake libnvidia-ml with one GPU, 0000:1b:00.0, whose power it does not report.
#include <cstring>

extern "C" {
// NOLINTBEGIN(readability-identifier-naming): NVML's names

int nvmlInit_v2() {
  return 0;
}
const char* nvmlErrorString(int) {
  return "Not Found";
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
  static int gpu = 0;
  *device = &gpu;
  return std::strcmp(address, "0000:1b:00.0") == 0 ? 0 : 6;
}
int nvmlDeviceGetClockInfo(void*, int type, unsigned* mhz) {
  *mhz = type == 1 ? 1980 : 2619;
  return 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned*) {
  return 3;
}
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
  *celsius = 41;
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = 0x4;
  return 0;
}
// NOLINTEND(readability-identifier-naming)
}
