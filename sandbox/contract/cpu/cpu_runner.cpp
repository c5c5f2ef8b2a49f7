// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/cpu/cpu_runner.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>

#include "runtime/codec.hpp"
#include "runtime/process/memory_file.hpp"
#include "sandbox/commit/control_page.hpp"
#include "sandbox/contract/cpu/cpu_contract.hpp"
#include "sandbox/jail/presets.hpp"
#include "sandbox/jail/process_state.hpp"
#include "sandbox/jail/seccomp_filter.hpp"

namespace warpsmith::sandbox {
namespace {

using Solve = void (*)(const void* const*, void* const*, const int64_t*);

/// Bytes without access around the buffers. A fault this close to the outputs counts as an overrun.
constexpr size_t fault_margin = 1U << 20U;

/// What the fault handler reads.
struct Regions {
  ControlPage* page = nullptr;
  std::span<std::byte> inputs, outputs;
};
Regions& regions() {
  static Regions all;
  return all;
}

bool contains(std::span<std::byte> region, const void* address, size_t margin) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const auto first = reinterpret_cast<uintptr_t>(region.data());
  return at + margin >= first && at < first + region.size() + margin;
}

/// Writes a hint, then lets the signal end the process.
void on_fault(int number, siginfo_t* info, void* /*context*/) {
  const Regions& all = regions();
  FaultHint hint = FaultHint::elsewhere;
  if (info->si_code > 0 && contains(all.outputs, info->si_addr, fault_margin)) {
    hint = FaultHint::near_output;
  }
  if (info->si_code > 0 && contains(all.inputs, info->si_addr, 0)) hint = FaultHint::wrote_input;
  // A null pointer from malloc faults at address 0; a failed `new` aborts.
  if (hint == FaultHint::elsewhere && errno == ENOMEM) hint = FaultHint::no_memory;
  all.page->hint = static_cast<uint32_t>(hint);
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  (void)::sigaction(number, &standard, nullptr);
}

void install_fault_handler() {
  // A candidate that overflows its stack must still reach the handler.
  static std::array<char, 16384> stack;
  stack_t alternative{};
  alternative.ss_sp = stack.data();
  alternative.ss_size = stack.size();
  (void)::sigaltstack(&alternative, nullptr);
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  action.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND);
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT}) (void)::sigaction(number, &action, nullptr);
}

/// The candidate's shared object.
class LoadedKernel {
 public:
  RunnerStatus confine() {
    confined_ = enter_candidate_filter().has_value();
    return confined_ ? RunnerStatus::ok : RunnerStatus::not_confined;
  }
  RunnerStatus load() {
    if (!confined_) return RunnerStatus::not_confined;
    void* library = ::dlopen(runner_artefact_path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return RunnerStatus::load_failed;
    solve_ = reinterpret_cast<Solve>(::dlsym(library, cpu_entry_point));
    return solve_ != nullptr ? RunnerStatus::ok : RunnerStatus::no_entry_point;
  }
  RunnerStatus run(const SetPointers& set, const std::vector<int64_t>& dims) const {
    if (solve_ == nullptr) return RunnerStatus::bad_order;
    errno = 0;
    solve_(set.in.data(), set.out.data(), dims.data());
    return RunnerStatus::ok;
  }

 private:
  bool confined_ = false;
  Solve solve_ = nullptr;
};

struct Mappings {
  MemoryFile control;
  std::span<std::byte> inputs, outputs;  // never unmapped
  RunnerPlan plan;
};

/// Maps the buffers between addresses without access, so that an overrun of one never reaches
/// another.
bool map_buffers(Mappings& maps) {
  const uint64_t inputs = maps.plan.layout.input_total();
  const uint64_t outputs = maps.plan.layout.output_total();
  void* reserved = ::mmap(nullptr, inputs + outputs + 3 * fault_margin, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return false;
  std::byte* at = static_cast<std::byte*>(reserved) + fault_margin;
  const auto place = [&](int fd, uint64_t bytes, int protection) {
    const UniqueFd owned{fd};
    const std::span<std::byte> region{at, bytes};
    at += bytes + fault_margin;
    constexpr int flags = MAP_SHARED | MAP_FIXED | MAP_POPULATE;
    const bool placed =
        bytes == 0 || ::mmap(region.data(), bytes, protection, flags, fd, 0) != MAP_FAILED;
    return placed ? region : std::span<std::byte>{};
  };
  maps.inputs = place(runner_inputs_fd, inputs, PROT_READ);
  maps.outputs = place(runner_outputs_fd, outputs, PROT_READ | PROT_WRITE);
  return maps.inputs.size() == inputs && maps.outputs.size() == outputs;
}

Result<Mappings> take_descriptors() {
  auto control = MemoryFile::map(UniqueFd{runner_control_fd}, true);
  auto bytes = MemoryFile::map(UniqueFd{runner_plan_fd}, false);
  if (!control || !bytes || control->bytes().size() < control_bytes) {
    return fail(ErrorCode::invalid_argument, "runner: a descriptor is missing");
  }
  TRY(auto plan, codec::unpack<RunnerPlan>(reinterpret_cast<const char*>(bytes->bytes().data()),
                                           bytes->bytes().size()));
  control->close_descriptor();
  Mappings maps{std::move(*control), {}, {}, std::move(plan)};
  if (!map_buffers(maps)) return fail(ErrorCode::io_failed, "runner: buffers cannot be mapped");
  return maps;
}

/// Waits for the next ring and returns its number.
uint32_t await_ring(const ControlPage& page, uint32_t seen) {
  while (load_word(page.ring) == seen) wait_while(page.ring, seen, std::nullopt);
  return load_word(page.ring);
}

[[noreturn]] void serve(const Mappings& maps) {
  auto& page = *reinterpret_cast<ControlPage*>(maps.control.bytes().data());
  const std::vector<SetPointers> sets =
      pointers_of(maps.plan, maps.inputs.data(), maps.outputs.data());
  LoadedKernel candidate;
  uint32_t seen = 0;
  while (true) {
    seen = await_ring(page, seen);
    const auto command = static_cast<Command>(page.command);
    const uint32_t set = page.set;
    RunnerStatus status = RunnerStatus::ok;
    if (command == Command::confine) status = candidate.confine();
    if (command == Command::load) status = candidate.load();
    if (command == Command::run) {
      status =
          set < sets.size() ? candidate.run(sets[set], maps.plan.dims) : RunnerStatus::bad_order;
    }
    page.status = static_cast<uint32_t>(status);
    store_word(page.done, seen);
    wake_one(page.done);
    if (command == Command::leave) ::_exit(0);
  }
}

Result<JailSpec> runner_jail(const CpuContestantSpec& spec) {
  JailSpec jail;
  jail.kind = JailKind::run;
  jail.argv = {own_program_path, "runner"};
  TRY_VOID(add_own_program(jail, spec.runner));
  jail.files[runner_artefact_path] = spec.artefact;
  jail.cores = pinned_to(spec.core);
  jail.limits = spec.limits;
  jail.limits.tmp_bytes = 0;
  return jail;
}

}  // namespace

Result<void> RunnerPlan::validate() const {
  constexpr uint64_t limit = 1ULL << 40U;
  if (layout.sets == 0 || layout.sets > 65536 || layout.input_stride > limit ||
      layout.output_stride > limit) {
    return fail(ErrorCode::parse_failed, "runner plan: impossible sets or strides");
  }
  for (size_t i = 0; i < layout.slots.size(); ++i) {
    const BufferSlot& slot = layout.slots[i];
    const uint64_t stride = slot.output ? layout.output_stride : layout.input_stride;
    if (slot.offset > stride || slot.bytes > stride - slot.offset || slot.offset % 64 != 0) {
      return fail(ErrorCode::parse_failed,
                  fmt::format("runner plan: tensor {} lies outside its memory", i));
    }
  }
  return {};
}

std::vector<SetPointers> pointers_of(const RunnerPlan& plan, std::byte* inputs,
                                     std::byte* outputs) {
  std::vector<SetPointers> sets(plan.layout.sets);
  for (uint32_t k = 0; k < plan.layout.sets; ++k) {
    for (const BufferSlot& slot : plan.layout.slots) {
      if (slot.output) {
        sets[k].out.push_back(outputs + k * plan.layout.output_stride + slot.offset);
      } else {
        sets[k].in.push_back(inputs + k * plan.layout.input_stride + slot.offset);
      }
    }
  }
  return sets;
}

int run_runner() {
  auto maps = take_descriptors();
  if (!maps) return 64;
  auto& page = *reinterpret_cast<ControlPage*>(maps->control.bytes().data());
  if (page.magic != control_magic || page.version != control_version) return 65;
  regions() = {&page, maps->inputs, maps->outputs};
  install_fault_handler();
  serve(*maps);
}

OrFailure<Contestant> start_cpu_contestant(const CpuContestantSpec& spec, Deadline deadline) {
  TRY(auto jail, runner_jail(spec));
  TRY(auto control, ControlMemory::create());
  const ByteBuffer bytes = codec::pack(RunnerPlan{spec.memory.layout, spec.dims});
  TRY(const auto plan, MemoryFile::sealed_copy("plan", {bytes.data(), bytes.size()}));
  jail.descriptors = {{runner_control_fd, control.fd()},
                      {runner_inputs_fd, spec.memory.inputs},
                      {runner_outputs_fd, spec.memory.outputs},
                      {runner_plan_fd, plan.fd()}};
  TRY(auto process, JailedProcess::start(jail));
  TRY(auto contestant, Contestant::adopt(std::move(process), std::move(control), deadline));
  TRY_VOID(contestant.process().observe());
  const pid_t runner = contestant.process().pid();
  TRY_VOID(limit_addresses(runner, spec.limits.memory_bytes));
  TRY_VOID(contestant.confine(deadline));
  // After `confine`, so that no-ops pass the same filter as the candidate's calls.
  TRY_VOID(contestant.calibrate(spec.calibration_calls, deadline));
  return contestant;
}

}  // namespace warpsmith::sandbox
