// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/lease.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <thread>

namespace warpsmith {
namespace {

/// The signal that interrupts calls: its handler does nothing, and calls are not restarted.
int interrupting_signal() {
  static const int number = [] {
    struct sigaction action{};
    action.sa_handler = [](int /*number*/) {};
    (void)::sigaction(SIGRTMIN, &action, nullptr);
    return SIGRTMIN;
  }();
  return number;
}

/// Interrupts this thread's blocking calls from a deadline on. A lock has no wait with a deadline,
/// and asking for it again and again would take time on a core that others are timed on.
class Interruption {
 public:
  static Result<std::unique_ptr<Interruption>> at(Deadline deadline) {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = interrupting_signal();
    event._sigev_un._tid = ::gettid();
    timer_t timer{};
    if (::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) {
      return fail(ErrorCode::io_failed, std::string("timer: ") + std::strerror(errno));
    }
    return std::unique_ptr<Interruption>(new Interruption(timer, deadline));
  }
  ~Interruption() {
    (void)::timer_delete(timer_);
    (void)::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

 private:
  Interruption(timer_t timer, Deadline deadline) : timer_(timer) {
    sigset_t set;
    (void)::sigemptyset(&set);
    (void)::sigaddset(&set, interrupting_signal());
    (void)::pthread_sigmask(SIG_UNBLOCK, &set, &before_);
    // Again and again: the first may come just before the call that it should interrupt.
    constexpr timespec interval{.tv_sec = 0, .tv_nsec = 100'000'000};
    const auto first = std::max<int64_t>(1, deadline.left().count());  // zero would be never
    const itimerspec times{
        .it_interval = interval,
        .it_value = {.tv_sec = first / 1000, .tv_nsec = first % 1000 * 1'000'000}};
    (void)::timer_settime(timer_, 0, &times, nullptr);
  }

  timer_t timer_;
  sigset_t before_{};
};

/// Bytes of a lock file. Open-file-description locks and those of flock(2) do not meet.
constexpr off_t turn = 0;      // locked: a lease is held or wanted
constexpr off_t work_due = 1;  // locked by others: shares have waited for long

/// Between two tries to hold a share. Measurements take some hundred milliseconds.
constexpr std::chrono::milliseconds poll_interval{2};

/// How long a lease waits for shares that have priority, in case they never come.
constexpr std::chrono::milliseconds longest_yield{1'000};

struct flock lock_of(off_t byte, short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

/// Does not wait.
bool set_lock(int file, off_t byte, short type) {
  struct flock lock = lock_of(byte, type);
  return ::fcntl(file, F_OFD_SETLK, &lock) == 0;
}

/// True if another description's lock of the byte excludes a write lock.
bool is_locked(int file, off_t byte) {
  struct flock seen = lock_of(byte, F_WRLCK);
  return ::fcntl(file, F_OFD_GETLK, &seen) == 0 && seen.l_type != F_UNLCK;
}

/// Takes a lock by a call that blocks in the kernel.
template <class Call>
Result<void> wait_in(const Call& call, Deadline deadline) {
  while (call() != 0) {
    if (errno != EINTR) return fail(ErrorCode::io_failed, std::strerror(errno));
    if (deadline.passed()) return fail(ErrorCode::timeout, "not free in time");
  }
  return {};
}

Result<void> wait_for_byte(int file, off_t byte, Deadline deadline) {
  struct flock wanted = lock_of(byte, F_WRLCK);
  return wait_in([&] { return ::fcntl(file, F_OFD_SETLKW, &wanted); }, deadline);
}

/// Returns once no share has waited for long, or after `longest_yield`.
void let_work_go_first(int file, Deadline deadline) {
  if (!is_locked(file, work_due)) return;
  const Deadline until = Deadline::after(std::min(deadline.left(), longest_yield));
  const auto interruption = Interruption::at(until);
  if (interruption && wait_for_byte(file, work_due, until)) set_lock(file, work_due, F_UNLCK);
}

/// Waits for the turn. Work that became due meanwhile goes first, once.
Result<void> take_turn(int file, Deadline deadline) {
  TRY_VOID(wait_for_byte(file, turn, deadline));
  if (!is_locked(file, work_due)) return {};
  set_lock(file, turn, F_UNLCK);
  let_work_go_first(file, deadline);
  return wait_for_byte(file, turn, deadline);
}

/// Waits for the turn, then until all shares are given back.
Result<void> lock(int file, Deadline deadline) {
  let_work_go_first(file, deadline);
  const bool first = set_lock(file, turn, F_WRLCK);
  if (first && ::flock(file, LOCK_EX | LOCK_NB) == 0) return {};
  TRY(const auto interruption, Interruption::at(deadline));
  TRY_VOID(first ? Result<void>{} : take_turn(file, deadline));
  return wait_in([&] { return ::flock(file, LOCK_EX); }, deadline);
}

/// All users put their lock files there.
void make_folder(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::create_directories(folder, error)) return;
  fs::permissions(folder, fs::perms::all | fs::perms::sticky_bit, error);
}

/// Without O_CREAT if the file exists: in a folder that all users can write, the kernel refuses it
/// for another user's file (fs.protected_regular).
UniqueFd open_lock(const std::string& path) {
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
  return fmt::format("core-{}", core);
}

std::string gpu_device(const cuda::Gpu& gpu) {
  std::string name =
      "gpu-" + (gpu.bus_address.empty() ? std::to_string(gpu.index) : gpu.bus_address);
  for (char& c : name) {
    if (c == ':' || c == '/') c = '_';
  }
  return name;
}

Result<UniqueFd> open_lease(const std::string& folder, const std::string& device) {
  make_folder(folder);
  const std::string path = folder + "/" + device + ".lock";
  UniqueFd file = open_lock(path);
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
  TRY(auto file, open_lease(folder, device));
  if (auto locked = lock(file.get(), deadline); !locked) {
    return fail("device " + device, std::move(locked.error()));
  }
  return DeviceLease{std::move(file)};
}

Result<DeviceShare> DeviceShare::open(const std::string& folder, const std::string& device) {
  TRY(auto file, open_lease(folder, device));
  return DeviceShare{std::move(file)};
}

bool DeviceShare::lease_is_pending() const {
  return is_locked(file_.get(), turn);
}

bool DeviceShare::is_wanted() const {
  return SteadyClock::now() >= kept_until_ && lease_is_pending();
}

bool DeviceShare::try_hold() {
  if (held_) return true;
  const auto now = SteadyClock::now();
  held_ = !lease_is_pending() && ::flock(file_.get(), LOCK_SH | LOCK_NB) == 0;
  if (!held_) {
    if (!asked_since_) asked_since_ = now;
    if (now - *asked_since_ >= patience) claim(true);
    return false;
  }
  if (claims_) kept_until_ = now + slice;
  asked_since_.reset();
  claim(false);
  return true;
}

Result<void> DeviceShare::hold(Deadline deadline) {
  while (!try_hold()) {
    if (deadline.passed()) {
      give_back();
      return fail(ErrorCode::timeout, "not free in time");
    }
    std::this_thread::sleep_for(poll_interval);
  }
  return {};
}

void DeviceShare::give_back() {
  (void)::flock(file_.get(), LOCK_UN);
  claim(false);
  held_ = false;
  asked_since_.reset();
}

void DeviceShare::claim(bool claims) {
  if (claims == claims_) return;
  if (set_lock(file_.get(), work_due, claims ? F_RDLCK : F_UNLCK)) claims_ = claims;
}

std::string memory_of(const std::string& device) {
  return device + "-memory";
}

Result<DeviceRoom> acquire_room(const std::string& folder, const std::string& device, bool much,
                                Deadline deadline) {
  const std::string memory = memory_of(device);
  if (much) {
    TRY(auto lease, DeviceLease::acquire(folder, memory, deadline));
    return DeviceRoom{std::move(lease)};
  }
  TRY(auto share, DeviceShare::open(folder, memory));
  if (auto held = share.hold(deadline); !held) {
    return fail("device " + memory, std::move(held.error()));
  }
  return DeviceRoom{std::move(share)};
}

}  // namespace warpsmith
