// SPDX-License-Identifier: Apache-2.0
// A plan on a GPU. On one stream, every call resets what an earlier call left, sweeps the caches,
// and records the start event, launches the set's graph and records the end event. The no-op in
// between does that reset: a graph of copies just before a call would slow it by a microsecond or
// two.
//
// While recording, the plan's steps are launched one by one and everything else as graphs: CUPTI 13
// misreports the times of copies and fills in a graph, and any record outside a graph belongs to
// the plan. CUPTI's counters do not work with graphs, so after `records` nothing is launched as a
// graph.
#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cuda/context.hpp"
#include "runtime/cuda/counter_session.hpp"
#include "runtime/cuda/cupti.hpp"
#include "runtime/cuda/device_error.hpp"
#include "runtime/random_stream.hpp"
#include "sandbox/compile/cubin.hpp"
#include "sandbox/jail/seccomp_filter.hpp"
#include "sandbox/launch/launcher.hpp"
#include "sandbox/launch/set_graphs.hpp"
#include "sandbox/profile/profiled_kernel.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::nanoseconds;

/// Resets the device variables of a candidate's module before each call, so that no call passes
/// anything to the next.
class ModuleGlobals {
 public:
  /// Saves an image of the variables; call it before anything of the module runs. An error names a
  /// variable that the driver cannot find. Throws DeviceError.
  static Result<ModuleGlobals> keep(const cuda::Context& context, const cuda::KernelModule& module,
                                    const std::vector<std::string>& names, CUstream stream) {
    Variables found;
    uint64_t bytes = 0;
    for (const std::string& name : names) {
      const auto variable = module.variable(name.c_str());
      if (!variable) {
        return fail(ErrorCode::invalid_config,
                    "the variable \"" + name + "\" cannot be reset: declare it without static");
      }
      found.push_back(*variable);
      bytes += variable->bytes;
    }
    ModuleGlobals made{context, std::move(found), bytes};
    CUdeviceptr to = made.image_.address();
    for (const auto& variable : made.variables_) {
      made.copy(to, variable.address, variable.bytes, stream);
      to += variable.bytes;
    }
    context.synchronize();
    return made;
  }

  /// Restores the image, with one copy for each variable.
  void restore(CUstream stream) const {
    CUdeviceptr from = image_.address();
    for (const auto& variable : variables_) {
      copy(variable.address, from, variable.bytes, stream);
      from += variable.bytes;
    }
  }

 private:
  using Variables = std::vector<cuda::KernelModule::Variable>;
  ModuleGlobals(const cuda::Context& context, Variables variables, uint64_t bytes)
      : api_(&context.api()), variables_(std::move(variables)), image_(*api_, bytes) {}
  void copy(CUdeviceptr to, CUdeviceptr from, uint64_t bytes, CUstream stream) const {
    cuda::check(*api_, api_->cuMemcpyDtoDAsync(to, from, bytes, stream), "cuMemcpyDtoDAsync");
  }

  const cuda::Api* api_;
  Variables variables_;
  cuda::DeviceMemory image_;
};

/// The readable name of a kernel; `name` unchanged if it is not a mangled C++ name or is longer
/// than 4 KiB. Only for jailed processes: a candidate may have chosen the name.
std::string demangled(const std::string& name) {
  constexpr size_t most_bytes = 4096;
  if (!name.starts_with("_Z") || name.size() > most_bytes) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text{
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free};
  return status == 0 && text ? std::string(text.get()) : name;
}

constexpr unsigned poison = 0xffffffff;  // NaN in every real type

cuda::GraphExec empty_graph(const cuda::Api& api) {
  CUgraph made = nullptr;
  cuda::check(api, api.cuGraphCreate(&made, 0), "cuGraphCreate");
  return cuda::instantiated(api, made);
}

void fill_words(const cuda::Api& api, const cuda::DeviceMemory& memory, unsigned value,
                CUstream stream) {
  cuda::check(api, api.cuMemsetD32Async(memory.address(), value, memory.bytes() / 4, stream),
              "cuMemsetD32Async");
}

/// Reads the system's random device, so call it before `confine`.
uint64_t random_seed() {
  std::random_device words;
  return uint64_t{words()} << 32U | words();
}

/// CUPTI, recording all that this process launches, or the reason why it cannot.
using Recorder = Result<cuda::DynamicLibrary>;

/// Call it before the context is made. The filter of `confine` then covers CUPTI's threads, if any,
/// as it covers the driver's.
Recorder start_recording() {
  TRY(auto cupti, cuda::load_cupti());
  TRY_VOID(cuda::start_kernel_records(cupti));
  return cupti;
}

class CudaDevice final : public PlanDevice {
 public:
  CudaDevice(cuda::Context context, Recorder recorder)
      : recorder_(std::move(recorder)),
        context_(std::move(context)),
        api_(context_.api()),
        stream_(cuda::make_stream(api_)),
        start_(cuda::make_event(api_)),
        end_(cuda::make_event(api_)),
        sweep_(api_, 2 * context_.l2_bytes()),
        empty_(empty_graph(api_)) {
    recording_ = recorder_.has_value();
    if (!recording_) return;
    recorded_sweep_ =
        cuda::captured(api_, stream_.get(), [this] { fill_words(api_, sweep_, 0, stream_.get()); });
  }

  Result<void> prepare(LauncherPlan plan, LauncherMemories memories) override {
    plan_ = std::move(plan);
    memories_ = std::move(memories);
    return libraries_.open_for(plan_.plan, context_);
  }

  Result<void> confine() override { return enter_launcher_filter(); }

  Result<void> load() override {
    try {
      map_memories();
      TRY_VOID(load_module());
      prepare_refresh();
      TRY_VOID(record_sets());
      // Drop the records of loading: only launches by `run` belong to the plan.
      return recording_ ? cuda::discard_kernel_records(*recorder_) : Result<void>{};
    } catch (const cuda::DeviceError& error) {
      if (error.no_memory()) throw;
      return fail(ErrorCode::invalid_config, error.what());
    }
  }

  bool releases() const override { return true; }

  void release() override {
    context_.synchronize();
    sets_.clear();
    graphs_.reset();
    refresh_ = {};
    globals_.reset();
    module_.reset();
    scratch_.reset();
    outputs_.reset();
    inputs_.reset();
    plan_ = {};
  }

  nanoseconds run(uint32_t set) override {
    make_cold();
    touched_ = true;
    if (recording_) return timed([&] { graphs_->launch(stream_.get(), bases_of(set)); });
    return timed_graph(sets_[set].get());
  }

  nanoseconds noop() override {
    make_cold();
    return timed_graph(empty_.get());
  }

  Result<std::vector<cuda::KernelRecord>> records() override {
    if (!recorder_) return tl::unexpected(recorder_.error());
    context_.synchronize();
    auto all = cuda::stop_kernel_records(*recorder_);
    recording_ = false;
    if (!all) return all;
    std::erase_if(*all, [](const cuda::KernelRecord& one) { return one.in_graph; });
    for (cuda::KernelRecord& record : *all) record.name = demangled(record.name);
    return all;
  }

  Result<std::vector<cuda::KernelCounters>> counters() override {
    if (!recorder_) return tl::unexpected(recorder_.error());
    const auto cool = [this] {
      make_cold();
      context_.synchronize();
    };
    const auto call = [this] {
      touched_ = true;
      graphs_->launch(stream_.get(), bases_of(0));
      context_.synchronize();
    };
    return cuda::count_call(*recorder_, most_profiled_kernels, cool, call);
  }

 private:
  void map_memories() {
    if (plan_.input_bytes > 0) {
      inputs_.emplace(cuda::VirtualMemory::import(context_, memories_.inputs.get(),
                                                  plan_.input_bytes, cuda::Access::read_only));
    }
    if (plan_.output_bytes > 0) {
      outputs_.emplace(cuda::VirtualMemory::import(context_, memories_.outputs.get(),
                                                   plan_.output_bytes, cuda::Access::read_write));
    }
    memories_ = {};
    scratch_.emplace(api_, plan_.plan.scratch_bytes);
  }

  /// A plan without `launch` steps has no kernels and so no module.
  Result<void> load_module() {
    if (plan_.artefact.empty()) return {};
    TRY(const auto facts, read_cubin(plan_.artefact));
    module_.emplace(api_, plan_.artefact.data());
    if (facts.variables.empty()) return {};
    TRY(auto kept, ModuleGlobals::keep(context_, *module_, facts.variables, stream_.get()));
    globals_.emplace(std::move(kept));
    return {};
  }

  Result<void> record_sets() {
    graphs_.emplace(context_, module_ ? &*module_ : nullptr, plan_.plan, libraries_);
    TRY_VOID(graphs_->prepare());
    for (uint32_t set = 0; set < plan_.layout.sets; ++set) {
      TRY(auto made, graphs_->record(stream_.get(), bases_of(set)));
      sets_.push_back(std::move(made));
    }
    cuda::check(api_, api_.cuStreamSynchronize(stream_.get()), "cuStreamSynchronize");
    return {};
  }

  DeviceBases bases_of(uint32_t set) const {
    const auto address = [](const std::optional<cuda::VirtualMemory>& memory) {
      return memory ? memory->address() : CUdeviceptr{0};
    };
    return sandbox::bases_of(plan_, set, address(inputs_), address(outputs_), scratch_->address());
  }

  bool keeps_something() const { return globals_ || plan_.plan.scratch_bytes > 0; }

  /// Makes the reset one launch, however many variables there are.
  void prepare_refresh() {
    if (!keeps_something()) return;
    refresh_ = cuda::captured(api_, stream_.get(), [this] { refresh_plainly(); });
    touched_ = true;
  }

  /// A no-op does the same as a call, so that both take equally long on the verifier's clock.
  void make_cold() {
    refresh();
    sweep();
  }

  /// Resets variables and scratch, so that no call passes anything to the next.
  void refresh() {
    if (!std::exchange(touched_, false) || !keeps_something()) return;
    const bool counting = recorder_ && !recording_;
    counting ? refresh_plainly() : launch(refresh_.get());
  }

  void refresh_plainly() {
    if (globals_) globals_->restore(stream_.get());
    if (scratch_->bytes() > 0) fill_words(api_, *scratch_, poison, stream_.get());
  }

  /// Leaves the caches cold, and keeps the device busy until everything that follows is queued.
  void sweep() {
    cuda::check(api_, api_.cuCtxResetPersistingL2Cache(), "cuCtxResetPersistingL2Cache");
    if (recording_) return launch(recorded_sweep_.get());
    fill_words(api_, sweep_, swept_(), stream_.get());
  }

  void launch(CUgraphExec graph) {
    cuda::check(api_, api_.cuGraphLaunch(graph, stream_.get()), "cuGraphLaunch");
  }

  nanoseconds timed_graph(CUgraphExec graph) {
    return timed([&] { launch(graph); });
  }

  template <class Work>
  nanoseconds timed(const Work& work) {
    CUstream stream = stream_.get();
    cuda::check(api_, api_.cuEventRecord(start_.get(), stream), "cuEventRecord");
    work();
    cuda::check(api_, api_.cuEventRecord(end_.get(), stream), "cuEventRecord");
    // Poll: a blocking wait would add an interrupt's delay to the verifier's clock. The verifier
    // cuts off a kernel that never ends.
    CUresult code = CUDA_ERROR_NOT_READY;
    while (code == CUDA_ERROR_NOT_READY) code = api_.cuEventQuery(end_.get());
    cuda::check(api_, code, "the plan's steps");
    float milliseconds = 0;
    cuda::check(api_, api_.cuEventElapsedTime(&milliseconds, start_.get(), end_.get()),
                "cuEventElapsedTime");
    return nanoseconds{static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6)};
  }

  Recorder recorder_;
  cuda::Context context_;
  const cuda::Api& api_;
  cuda::Stream stream_;
  cuda::Event start_, end_;
  cuda::DeviceMemory sweep_;
  // The values that sweeps write. Device code can read them, so they are random: a counter would
  // reveal the number of calls.
  RandomStream swept_{random_seed(), "sweep"};
  bool touched_ = false;  // a call used scratch and variables since the last reset
  bool recording_ = false;
  cuda::GraphExec empty_, recorded_sweep_, refresh_;
  LauncherPlan plan_;
  LauncherMemories memories_;
  std::optional<cuda::VirtualMemory> inputs_, outputs_;
  std::optional<cuda::DeviceMemory> scratch_;
  std::optional<cuda::KernelModule> module_;
  std::optional<ModuleGlobals> globals_;
  StepLibraries libraries_;
  std::optional<SetGraphs> graphs_;
  std::vector<cuda::GraphExec> sets_;
};

}  // namespace

Result<std::unique_ptr<PlanDevice>> open_cuda_device(Recording recording) {
  Recorder recorder = recording == Recording::on
                          ? start_recording()
                          : Recorder{fail(ErrorCode::unsupported, "this launcher does not record")};
  TRY(auto context, cuda::Context::open(0));
  try {
    return std::make_unique<CudaDevice>(std::move(context), std::move(recorder));
  } catch (const cuda::DeviceError& error) {
    return fail(ErrorCode::infrastructure, error.what());
  }
}

}  // namespace warpsmith::sandbox
