// SPDX-License-Identifier: Apache-2.0
#include "sandbox/launch/launcher.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>

#include "runtime/codec.hpp"
#include "runtime/cuda/device_error.hpp"
#include "runtime/process/frame_socket.hpp"
#include "runtime/process/memory_file.hpp"
#include "sandbox/commit/control_page.hpp"
#include "sandbox/profile/record_file.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::nanoseconds;

// Bounds the wait for a plan: the verifier sends it before the command.
constexpr std::chrono::seconds handover_patience{10};
enum ExitCode : int { no_device = 64, bad_page = 65, after_fault = 70 };

/// One message carries the descriptors of the plan, the inputs and the outputs, in this order.
Result<std::pair<LauncherPlan, LauncherMemories>> receive_plan(FrameSocket& socket) {
  auto fds = socket.receive_descriptors(Deadline::after(handover_patience));
  if (!fds) return fail("handover", std::move(fds.error()));
  if (fds->size() != 3) return fail(ErrorCode::parse_failed, "handover: three descriptors");
  const auto bytes = MemoryFile::map(std::move((*fds)[0]), false);
  if (!bytes) return fail("handover", bytes.error());
  auto plan = codec::unpack<LauncherPlan>(reinterpret_cast<const char*>(bytes->bytes().data()),
                                          bytes->bytes().size());
  if (!plan) return fail("handover", std::move(plan.error()));
  return std::pair{std::move(*plan), LauncherMemories{std::move((*fds)[1]), std::move((*fds)[2])}};
}

class Launcher {
 public:
  /// `collect` writes to `records`, which is empty in a launcher that does not record.
  Launcher(ControlPage& page, std::unique_ptr<PlanDevice> device, FrameSocket socket,
           std::optional<MemoryFile> records)
      : page_(page),
        device_(std::move(device)),
        socket_(std::move(socket)),
        records_(std::move(records)) {}

  [[noreturn]] void serve() {
    uint32_t seen = 0;
    while (true) {
      while (load_word(page_.ring) == seen) wait_while(page_.ring, seen, std::nullopt);
      seen = load_word(page_.ring);
      // Exit on the next command: only then has the verifier read the answer about the fault.
      if (state_ == State::faulted) ::_exit(after_fault);
      const auto command = static_cast<Command>(page_.command);
      page_.status = static_cast<uint32_t>(answer(command, page_.set));
      store_word(page_.done, seen);
      wake_one(page_.done);
      if (command == Command::leave) ::_exit(0);
    }
  }

 private:
  enum class State : uint8_t { warm, confined, loaded, faulted };

  RunnerStatus answer(Command command, uint32_t set) {
    try {
      return carry_out(command, set);
    } catch (const cuda::DeviceError& error) {
      state_ = State::faulted;
      return failed(error.no_memory() ? RunnerStatus::no_memory : RunnerStatus::device_fault,
                    error.what());
    }
  }

  RunnerStatus carry_out(Command command, uint32_t set) {
    switch (command) {
      case Command::noop:
        return record_time(device_->noop());
      case Command::confine:
        return state_ == State::warm ? confine() : RunnerStatus::bad_order;
      case Command::load:
        return state_ == State::confined ? load() : RunnerStatus::bad_order;
      case Command::run:
        if (state_ != State::loaded || set >= sets_) return RunnerStatus::bad_order;
        return record_time(device_->run(set));
      case Command::collect:
        return state_ == State::loaded && records_ ? collect() : RunnerStatus::bad_order;
      case Command::count:
        return state_ == State::loaded && collected_ ? count() : RunnerStatus::bad_order;
      case Command::release:
        return state_ == State::loaded && device_->releases() ? release() : RunnerStatus::bad_order;
      case Command::leave:
        return RunnerStatus::ok;
    }
    return RunnerStatus::bad_order;
  }

  RunnerStatus confine() {
    auto received = receive_plan(*socket_);
    if (!device_->releases()) socket_.reset();
    if (!received) return failed(RunnerStatus::unlaunchable, received.error().message);
    sets_ = received->first.layout.sets;
    auto done = device_->prepare(std::move(received->first), std::move(received->second));
    if (done && !filtered_) done = device_->confine();
    if (!done) return failed(RunnerStatus::unlaunchable, done.error().message);
    filtered_ = true;
    state_ = State::confined;
    return RunnerStatus::ok;
  }

  RunnerStatus load() {
    if (auto done = device_->load(); !done) {
      return failed(RunnerStatus::unlaunchable, done.error().message);
    }
    state_ = State::loaded;
    return RunnerStatus::ok;
  }

  RunnerStatus release() {
    device_->release();
    sets_ = 0;
    state_ = State::warm;
    return RunnerStatus::ok;
  }

  RunnerStatus collect() {
    write_records(records_->bytes(), device_->records());
    collected_ = true;
    return RunnerStatus::ok;
  }

  RunnerStatus count() {
    write_counters(records_->bytes(), device_->counters());
    return RunnerStatus::ok;
  }

  RunnerStatus record_time(nanoseconds span) {
    page_.device_ns = static_cast<uint64_t>(std::max<int64_t>(span.count(), 0));
    return RunnerStatus::ok;
  }

  RunnerStatus failed(RunnerStatus status, const std::string& why) {
    const size_t length = std::min(why.size(), sizeof page_.text - 1);
    std::memcpy(page_.text, why.data(), length);
    page_.text[length] = '\0';
    return status;
  }

  ControlPage& page_;
  std::unique_ptr<PlanDevice> device_;
  std::optional<FrameSocket> socket_;
  std::optional<MemoryFile> records_;
  State state_ = State::warm;
  bool filtered_ = false, collected_ = false;
  uint32_t sets_ = 0;
};

}  // namespace

int run_launcher(OpenDevice open, Recording recording) {
  auto control = MemoryFile::map(UniqueFd{launcher_control_fd}, true);
  if (!control || control->bytes().size() < control_bytes) return bad_page;
  control->close_descriptor();
  auto& page = *reinterpret_cast<ControlPage*>(control->bytes().data());
  if (page.magic != control_magic || page.version != control_version) return bad_page;
  std::optional<MemoryFile> records;
  if (recording == Recording::on) {
    auto memory = MemoryFile::map(UniqueFd{launcher_records_fd}, true);
    if (!memory || memory->bytes().size() < record_file_bytes) return bad_page;
    memory->close_descriptor();
    records.emplace(std::move(*memory));
  }
  auto device = open(recording);
  if (!device) {
    // The verifier captures standard error and reports it.
    (void)!::write(STDERR_FILENO, device.error().message.data(), device.error().message.size());
    return no_device;
  }
  Launcher{page, std::move(*device), FrameSocket{UniqueFd{launcher_socket_fd}}, std::move(records)}
      .serve();
}

}  // namespace warpsmith::sandbox
