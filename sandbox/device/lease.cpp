// SPDX-License-Identifier: Apache-2.0
#include "sandbox/device/lease.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

namespace warpsmith::sandbox {
namespace {

// A wait lasts as long as another evaluation, some hundred milliseconds.
constexpr std::chrono::milliseconds between_tries{1};

/// All users put their lock files there.
void make_folder(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::create_directories(folder, error)) return;
  fs::permissions(folder, fs::perms::all | fs::perms::sticky_bit, error);
}

/// Without O_CREAT if the file exists: in a folder that all users can write, the kernel refuses it
/// for another user's file (fs.protected_regular).
UniqueFd open_file(const std::string& path) {
  constexpr int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  UniqueFd file{::open(path.c_str(), flags)};
  if (file || errno != ENOENT) return file;
  file = UniqueFd{::open(path.c_str(), flags | O_CREAT | O_EXCL, 0666)};
  if (file) (void)::fchmod(file.get(), 0666);  // despite the umask
  const bool made_meanwhile = !file && errno == EEXIST;
  return made_meanwhile ? UniqueFd{::open(path.c_str(), flags)} : std::move(file);
}

}  // namespace

std::string core_device(int core) {
  return "core-" + std::to_string(core);
}

Result<UniqueFd> open_lease(const std::string& folder, const std::string& device) {
  make_folder(folder);
  const std::string path = folder + "/" + device + ".lock";
  UniqueFd file = open_file(path);
  if (!file) {
    const std::string why = std::strerror(errno);
    return fail(ErrorCode::io_failed,
                "lease " + path + ", which all users of the device must be able to open: " + why);
  }
  // Keeps cleaners of temporary folders away: other processes cannot find a removed lock file.
  (void)::futimens(file.get(), nullptr);
  return file;
}

Result<DeviceLease> DeviceLease::acquire(const std::string& folder, const std::string& device,
                                         Deadline deadline) {
  auto file = open_lease(folder, device);
  if (!file) return tl::unexpected(file.error());
  while (::flock(file->get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return fail(ErrorCode::io_failed, "lease " + device + ": " + std::strerror(errno));
    }
    if (deadline.passed()) {
      return fail(ErrorCode::timeout, "device " + device + " was not free in time");
    }
    std::this_thread::sleep_for(between_tries);
  }
  return DeviceLease{std::move(*file)};
}

}  // namespace warpsmith::sandbox
