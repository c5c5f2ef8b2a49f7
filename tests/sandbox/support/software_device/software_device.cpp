// SPDX-License-Identifier: Apache-2.0
#include "tests/sandbox/support/software_device/software_device.hpp"

#include <dlfcn.h>
#include <sys/mman.h>

#include <cstring>

#include "runtime/clock.hpp"
#include "runtime/process/memory_file.hpp"
#include "sandbox/contract/cpu/cpu_contract.hpp"
#include "sandbox/jail/seccomp_filter.hpp"
#include "sandbox/plan/match_kernels.hpp"
#include "sandbox/profile/record_file.hpp"
#include "tests/sandbox/support/software_device/software_kernels.hpp"
#include "tests/sandbox/support/software_device/software_library.hpp"

namespace warpsmith::sandbox::testing {
namespace {

using Solve = void (*)(const void* const*, void* const*, const int64_t*);

/// Arguments of one launch on one set, kept at fixed addresses.
struct Arguments {
  std::vector<uint64_t> values;  // each in the first bytes of its own word
  std::vector<const void*> addresses;
  std::vector<int64_t> bytes;
};

Result<MemoryFile> map_memory(UniqueFd fd, uint64_t bytes, bool writable) {
  auto memory = MemoryFile::map(std::move(fd), writable);
  if (memory && memory->bytes().size() < bytes) {
    return fail(ErrorCode::invalid_argument, "a memory is smaller than the plan says");
  }
  return memory;
}

/// The shape of a step as a GPU's profiler records it, without its time.
cuda::KernelRecord record_of(const BoundStep& step, const std::vector<BoundBuffer>& buffers) {
  cuda::KernelRecord record;
  if (const auto* launch = std::get_if<BoundLaunch>(&step.what)) {
    record.name = launch->kernel;
    record.grid = {launch->grid.x, launch->grid.y, launch->grid.z};
    record.block = {launch->block.x, launch->block.y, launch->block.z};
  } else if (const auto* memset = std::get_if<BoundMemset>(&step.what)) {
    record.kind = cuda::RecordKind::fill;
    record.bytes = buffers[memset->out].bytes;
  } else if (const auto* copy = std::get_if<BoundCopy>(&step.what)) {
    record.kind = cuda::RecordKind::copy;
    record.bytes = buffers[copy->out].bytes;
  } else {
    record.name = std::holds_alternative<BoundGemm>(step.what) ? "software_gemm" : "software_conv";
    record.grid = record.block = {1, 1, 1};
  }
  return record;
}

class SoftwareDevice final : public PlanDevice {
 public:
  explicit SoftwareDevice(Recording recording) : recording_(recording) {}

  Result<void> prepare(LauncherPlan plan, LauncherMemories memories) override {
    plan_ = std::move(plan);
    auto inputs = map_memory(std::move(memories.inputs), plan_.input_bytes, false);
    if (!inputs) return tl::unexpected(inputs.error());
    auto outputs = map_memory(std::move(memories.outputs), plan_.output_bytes, true);
    if (!outputs) return tl::unexpected(outputs.error());
    // These files are made here: the filter of `confine` refuses to make any.
    auto artefact = MemoryFile::sealed_copy("kernels", plan_.artefact);
    if (!artefact) return tl::unexpected(artefact.error());
    auto scratch = MemoryFile::create("scratch", plan_.plan.scratch_bytes);
    if (!scratch) return tl::unexpected(scratch.error());
    inputs_ = std::move(*inputs);
    outputs_ = std::move(*outputs);
    artefact_ = std::move(*artefact);
    scratch_ = std::move(*scratch);
    return {};
  }

  Result<void> confine() override { return enter_candidate_filter(); }

  Result<void> load() override {
    kernels_ = kernels_of(plan_.plan);
    if (!kernels_.empty()) {
      if (auto opened = open_kernels(); !opened) return opened;
    }
    for (const BoundStep& step : plan_.plan.steps) {
      if (std::string wrong = refusal_of(step); !wrong.empty()) {
        return fail(ErrorCode::invalid_config, at_place(step.place, wrong));
      }
    }
    return {};
  }

  bool releases() const override { return false; }
  void release() override {}

  std::chrono::nanoseconds run(uint32_t set) override {
    const BufferBases bases = bases_of(set);
    std::memset(scratch_.bytes().data(), 0xff, scratch_.bytes().size());
    const auto begin = SteadyClock::now();
    for (const BoundStep& step : plan_.plan.steps) {
      const auto started = SteadyClock::now();
      carry_out(step, bases);
      if (recording_ == Recording::on) record(step, started);
    }
    return SteadyClock::now() - begin;
  }

  std::chrono::nanoseconds noop() override {
    const auto begin = SteadyClock::now();
    return SteadyClock::now() - begin;
  }

  Result<std::vector<cuda::KernelRecord>> records() override { return std::move(records_); }
  Result<std::vector<cuda::KernelCounters>> counters() override {
    return fail(ErrorCode::unsupported, "a processor has no GPU's counters");
  }

 private:
  void record(const BoundStep& step, SteadyClock::time_point started) {
    if (records_.size() > most_records) return;  // one too many: some are lost
    records_.push_back(record_of(step, plan_.plan.buffers));
    records_.back().start_ns = std::chrono::nanoseconds{started.time_since_epoch()}.count();
    records_.back().duration_ns = std::chrono::nanoseconds{SteadyClock::now() - started}.count();
  }

  Result<void> open_kernels() {
    const std::string path = "/proc/self/fd/" + std::to_string(artefact_.fd());
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) solve_ = reinterpret_cast<Solve>(::dlsym(library, cpu_entry_point));
    if (solve_ == nullptr) return fail(ErrorCode::invalid_config, "the kernels do not load");
    return {};
  }

  BufferBases bases_of(uint32_t set) const {
    return sandbox::bases_of(plan_, set, inputs_.bytes().data(), outputs_.bytes().data(),
                             scratch_.bytes().data());
  }

  /// What is wrong with a launch, found by a call with an empty grid; empty if nothing is.
  std::string refusal_of(const BoundStep& step) {
    const auto* launch = std::get_if<BoundLaunch>(&step.what);
    if (launch == nullptr) return {};
    for (const BoundArgument& argument : launch->args) {
      if (std::holds_alternative<BoundTensorMap>(argument)) {
        return "the software device has no tensor maps";
      }
    }
    if (launch->cluster || launch->cooperative || launch->shared > 0) {
      return "the software device has no clusters, cooperative launches or dynamic shared memory";
    }
    const SoftwareCall call = called(*launch, bases_of(0), true);
    if (call.wrong == 0) return {};
    if (call.wrong < 0) {
      return "\"" + launch->kernel + "\" takes " + std::to_string(call.expected) + " arguments";
    }
    return "argument " + std::to_string(call.wrong) + " of \"" + launch->kernel + "\" has " +
           std::to_string(call.expected) + " bytes";
  }

  void carry_out(const BoundStep& step, const BufferBases& bases) const {
    const auto& buffers = plan_.plan.buffers;
    if (const auto* launch = std::get_if<BoundLaunch>(&step.what)) {
      (void)called(*launch, bases, false);
    } else if (const auto* gemm = std::get_if<BoundGemm>(&step.what)) {
      software_gemm(*gemm, buffers, bases);
    } else if (const auto* conv = std::get_if<BoundConv>(&step.what)) {
      software_conv(*conv, buffers, bases);
    } else if (const auto* memset = std::get_if<BoundMemset>(&step.what)) {
      std::memset(bases[memset->out], memset->value, buffers[memset->out].bytes);
    } else {
      const auto& copy = std::get<BoundCopy>(step.what);
      std::memmove(bases[copy.out], bases[copy.from], buffers[copy.out].bytes);
    }
  }

  SoftwareCall called(const BoundLaunch& launch, const BufferBases& bases, bool empty) const {
    const Arguments arguments = arguments_of(launch, bases);
    SoftwareCall call;
    while (kernels_[static_cast<size_t>(call.kernel)] != launch.kernel) ++call.kernel;
    call.count = static_cast<int64_t>(launch.args.size());
    const auto extents = [](const Extent3& from, int64_t(&to)[3]) {
      to[0] = from.x, to[1] = from.y, to[2] = from.z;
    };
    extents(launch.grid, call.grid);
    extents(launch.block, call.block);
    if (empty) call.grid[0] = 0;
    call.arguments = arguments.addresses.data();
    call.bytes = arguments.bytes.data();
    void* const out[] = {&call};
    solve_(nullptr, out, nullptr);
    return call;
  }

  static Arguments arguments_of(const BoundLaunch& launch, const BufferBases& bases) {
    Arguments all;
    all.values.reserve(launch.args.size());
    for (const BoundArgument& argument : launch.args) {
      uint64_t& word = all.values.emplace_back(0);
      if (const auto* pointer = std::get_if<BoundPointer>(&argument)) {
        std::byte* const address = bases[pointer->buffer];
        std::memcpy(&word, static_cast<const void*>(&address), sizeof address);
      } else if (const auto* scalar = std::get_if<BoundScalar>(&argument)) {
        const auto narrow = static_cast<float>(scalar->real);
        if (scalar->type == ScalarType::f32) {
          std::memcpy(&word, &narrow, sizeof narrow);
        } else if (scalar->type == ScalarType::f64) {
          std::memcpy(&word, &scalar->real, sizeof scalar->real);
        } else {
          word = static_cast<uint64_t>(scalar->whole);
        }
      }
      all.addresses.push_back(&word);
      all.bytes.push_back(argument_bytes(argument));
    }
    return all;
  }

  LauncherPlan plan_;
  MemoryFile inputs_, outputs_, artefact_, scratch_;
  std::vector<std::string> kernels_;
  Solve solve_ = nullptr;
  Recording recording_;
  std::vector<cuda::KernelRecord> records_;
};

}  // namespace

Result<std::unique_ptr<PlanDevice>> make_software_device(Recording recording) {
  return std::make_unique<SoftwareDevice>(recording);
}

}  // namespace warpsmith::sandbox::testing
