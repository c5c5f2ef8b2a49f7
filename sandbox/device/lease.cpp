// SPDX-License-Identifier: Apache-2.0
#include "sandbox/device/lease.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

namespace warpsmith::sandbox {
namespace {

// A wait is as long as another's evaluation, some hundred milliseconds: looking so often costs
// nothing and loses little.
constexpr std::chrono::milliseconds between_tries{1};

}  // namespace

Result<UniqueFd> open_lease(const std::string& folder, const std::string& device) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::string path = folder + "/" + device + ".lock";
  UniqueFd file{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)};
  if (file) return file;
  return fail(ErrorCode::io_failed, "device lease " + path + ": " + std::strerror(errno));
}

Result<DeviceLease> DeviceLease::acquire(const std::string& folder, const std::string& device,
                                         Deadline deadline) {
  auto file = open_lease(folder, device);
  if (!file) return tl::unexpected(file.error());
  while (::flock(file->get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return fail(ErrorCode::io_failed, "device lease " + device + ": " + std::strerror(errno));
    }
    if (deadline.passed()) {
      return fail(ErrorCode::timeout, "device " + device + " was not free in time");
    }
    std::this_thread::sleep_for(between_tries);
  }
  return DeviceLease{std::move(*file)};
}

}  // namespace warpsmith::sandbox
