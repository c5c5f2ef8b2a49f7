// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/cuda/cuda_engine.hpp"

#include <fmt/format.h>

#include <deque>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "policy/generate/cuda/cuda_model.hpp"
#include "policy/generate/cuda/memory_plan.hpp"
#include "runtime/cuda/context.hpp"
#include "runtime/cuda/device_error.hpp"
#include "runtime/median.hpp"

namespace warpsmith::policy::cuda {
namespace {

namespace driver = warpsmith::cuda;

/// The engine's device on a GPU. Runs one batch ahead: the host plans a step while the GPU computes
/// the previous one, whose samples exist only on the GPU. A batch in which every sequence decodes
/// is a recorded graph; others launch kernel by kernel. Made, used and destroyed on one thread.
/// Throws DeviceError if the GPU fails.
class CudaBackend final : public Backend {
 public:
  /// `not_found` without that GPU, `unsupported` without a driver or cuBLAS that fit, `capacity` if
  /// the memory does not.
  static Result<std::unique_ptr<CudaBackend>> make(const ModelConfig& model,
                                                   const EngineConfig& config,
                                                   const CudaEngineOptions& options);
  ~CudaBackend() override;

  int64_t vocab() const override { return model_config_.vocab; }
  bool runs_ahead() const override { return true; }
  void adopt(const ModelWeights& weights) override;
  void start(std::span<const DecodeRow> rows) override;
  std::vector<SampledToken> finish() override;

 private:
  /// The host's memory of a batch in flight.
  struct Slot {
    driver::PinnedMemory batch;
    driver::PinnedMemory attention;
    driver::PinnedMemory samples;
    driver::Event finished;
    int64_t sample_count = 0;
  };
  static constexpr size_t batches_in_flight = 2;

  CudaBackend(driver::Context context, const ModelConfig& model, const EngineConfig& config,
              const CudaEngineOptions& options);
  Result<void> start_blas();
  Slot make_slot() const;
  StepShape prepare(const BatchRows& batch, bool for_graph, Slot& slot);
  void run(const StepShape& step, int64_t graph_size);
  void check(CUresult code, const char* call) const;

  driver::Context context_;
  ModelConfig model_config_;
  CudaEngineOptions options_;
  BatchLimits limits_;
  driver::Stream stream_;
  CudaModel model_;
  driver::DeviceMemory workspace_;
  std::optional<Blas> blas_;
  std::vector<int64_t> graph_sizes_;
  std::map<int64_t, driver::GraphExec> graphs_;  // by size, made at first use
  std::vector<Slot> slots_;
  std::deque<size_t> in_flight_;  // slots, oldest first
  size_t next_slot_ = 0;
};

constexpr int oldest_major = 8;  // compute capability of the oldest GPUs: bf16 products

Result<void> check_device(const driver::Context& context, int gpu) {
  const int major = context.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  if (major >= oldest_major) return {};
  return fail(ErrorCode::unsupported,
              fmt::format("GPU {}: expected compute capability 8.0 or newer, got {}.{}", gpu, major,
                          context.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)));
}

Result<std::unique_ptr<CudaBackend>> CudaBackend::make(const ModelConfig& model,
                                                       const EngineConfig& config,
                                                       const CudaEngineOptions& options) {
  TRY(auto context, driver::Context::open(options.gpu));
  try {
    TRY_VOID(check_device(context, options.gpu));
    const MemoryPlan plan = plan_memory(model, config, options.precision);
    const auto free = static_cast<int64_t>(context.memory().free);
    if (auto ok = check_memory(plan, config, free); !ok) {
      return fail(fmt::format("GPU {}", options.gpu), ok.error());
    }
    std::unique_ptr<CudaBackend> backend(
        new CudaBackend(std::move(context), model, config, options));
    TRY_VOID(backend->start_blas());
    return backend;
  } catch (const driver::DeviceError& error) {
    return fail(error.no_memory() ? ErrorCode::capacity : ErrorCode::infrastructure, error.what());
  }
}

CudaBackend::CudaBackend(driver::Context context, const ModelConfig& model,
                         const EngineConfig& config, const CudaEngineOptions& options)
    : context_(std::move(context)),
      model_config_(model),
      options_(options),
      limits_(config),
      stream_(driver::make_stream(context_.api())),
      model_(context_, model, config, options.precision),
      workspace_(context_.api(), static_cast<uint64_t>(blas_workspace_bytes)),
      graph_sizes_(options.graphs ? graph_sizes(limits_.sequences) : std::vector<int64_t>{}) {
  for (size_t i = 0; i < batches_in_flight; ++i) slots_.push_back(make_slot());
}

CudaBackend::~CudaBackend() {
  // The GPU may still use memory that is destroyed next; an error was or will be reported
  // elsewhere.
  (void)context_.api().cuStreamSynchronize(stream_.get());
}

Result<void> CudaBackend::start_blas() {
  auto blas =
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's type
      Blas::make(options_.precision, stream_.get(), reinterpret_cast<void*>(workspace_.address()));
  if (!blas) return tl::unexpected(blas.error());
  blas_.emplace(std::move(*blas));
  return {};
}

CudaBackend::Slot CudaBackend::make_slot() const {
  const driver::Api& api = context_.api();
  const BatchLayout largest(limits_.rows, limits_.sequences, limits_.sequences);
  return {.batch = {api, static_cast<uint64_t>(largest.bytes(limits_.blocks))},
          .attention = {api, static_cast<uint64_t>(attention_int_bytes)},
          .samples = {api, static_cast<uint64_t>(limits_.sequences) * sizeof(DeviceSample)},
          .finished = driver::make_event(api)};
}

void CudaBackend::check(CUresult code, const char* call) const {
  driver::check(context_.api(), code, call);
}

void CudaBackend::adopt(const ModelWeights& weights) {
  model_.weights().adopt(weights, stream_.get());
}

void CudaBackend::start(std::span<const DecodeRow> rows) {
  if (in_flight_.size() == batches_in_flight) {
    throw std::logic_error("cuda backend: finish the oldest batch before a third one starts");
  }
  BatchRows batch = pack_rows(rows);
  Slot& slot = slots_[next_slot_];
  slot.sample_count = batch.samples();
  const int64_t graph_size = batch.only_decodes() ? graph_size_for(graph_sizes_, batch.rows()) : 0;
  if (graph_size > 0) pad_to(batch, graph_size, model_.scratch_block());
  run(prepare(batch, graph_size > 0, slot), graph_size);
  const auto bytes = static_cast<size_t>(slot.sample_count) * sizeof(DeviceSample);
  if (bytes > 0) {
    check(context_.api().cuMemcpyDtoHAsync(slot.samples.data(), model_.samples(), bytes,
                                           stream_.get()),
          "cuMemcpyDtoHAsync");
  }
  check(context_.api().cuEventRecord(slot.finished.get(), stream_.get()), "cuEventRecord");
  in_flight_.push_back(next_slot_);
  next_slot_ = (next_slot_ + 1) % batches_in_flight;
}

/// Copies the batch to the GPU and plans its attention.
StepShape CudaBackend::prepare(const BatchRows& batch, bool for_graph, Slot& slot) {
  StepShape step{batch.rows(), batch.sequence_count(), batch.samples(), {}};
  const BatchLayout layout(step.rows, step.sequences, step.samples);
  write_batch(batch, layout, slot.batch.data());
  const int64_t bytes = layout.bytes(static_cast<int64_t>(batch.blocks.size()));
  check(context_.api().cuMemcpyHtoDAsync(model_.batch_buffer(), slot.batch.data(),
                                         static_cast<size_t>(bytes), stream_.get()),
        "cuMemcpyHtoDAsync");
  if (!model_.flash()) return step;
  step.attention = plan_attention(model_.attention_shape(),
                                  {.row_starts = batch.row_starts.data(),
                                   .block_starts = batch.block_starts.data(),
                                   .rows = step.rows,
                                   .sequences = step.sequences,
                                   .one_row_each = step.rows == step.sequences,
                                   .for_graph = for_graph},
                                  model_.scratch(slot.attention.data()), stream_.get());
  return step;
}

void CudaBackend::run(const StepShape& step, int64_t graph_size) {
  if (graph_size == 0) return model_.forward(*blas_, step, stream_.get());
  auto found = graphs_.find(graph_size);
  if (found == graphs_.end()) {
    auto graph = driver::captured(context_.api(), stream_.get(),
                                  [&] { model_.forward(*blas_, step, stream_.get()); });
    found = graphs_.emplace(graph_size, std::move(graph)).first;
  }
  check(context_.api().cuGraphLaunch(found->second.get(), stream_.get()), "cuGraphLaunch");
}

std::vector<SampledToken> CudaBackend::finish() {
  const Slot& slot = slots_[in_flight_.front()];
  in_flight_.pop_front();
  check(context_.api().cuEventSynchronize(slot.finished.get()), "cuEventSynchronize");
  const auto* samples = reinterpret_cast<const DeviceSample*>(slot.samples.data());
  std::vector<SampledToken> tokens;
  tokens.reserve(static_cast<size_t>(slot.sample_count));
  for (int64_t i = 0; i < slot.sample_count; ++i) {
    tokens.push_back({samples[i].token, samples[i].log_prob, samples[i].sampled_log_prob});
  }
  return tokens;
}

}  // namespace
}  // namespace warpsmith::policy::cuda

namespace warpsmith::policy {
namespace {

namespace driver = warpsmith::cuda;

/// The kernels' limits.
Result<void> check_shape(const ModelConfig& model) {
  constexpr int64_t widest_head = 256;
  const auto refuse = [](const char* name, const std::string& expected, int64_t got) {
    return fail(ErrorCode::unsupported,
                fmt::format("engine on a GPU: {}: expected {}, got {}", name, expected, got));
  };
  if (model.head_dim > widest_head) {
    return refuse("head_dim", fmt::format("at most {}", widest_head), model.head_dim);
  }
  if (model.hidden > cuda::widest_row || model.hidden % 4 != 0) {
    return refuse("hidden_size", fmt::format("a multiple of 4, at most {}", cuda::widest_row),
                  model.hidden);
  }
  if (model.ffn % 4 != 0) return refuse("intermediate_size", "a multiple of 4", model.ffn);
  return {};
}

constexpr uint64_t copied_bytes = uint64_t{1} << 30;
constexpr int copies = 11;

double seconds_of_copy(const driver::Api& api, CUdeviceptr from, CUdeviceptr to) {
  const driver::Stream stream = driver::make_stream(api);
  const driver::Event start = driver::make_event(api);
  const driver::Event end = driver::make_event(api);
  driver::check(api, api.cuEventRecord(start.get(), stream.get()), "cuEventRecord");
  driver::check(api, api.cuMemcpyDtoDAsync(to, from, copied_bytes, stream.get()),
                "cuMemcpyDtoDAsync");
  driver::check(api, api.cuEventRecord(end.get(), stream.get()), "cuEventRecord");
  driver::check(api, api.cuEventSynchronize(end.get()), "cuEventSynchronize");
  float milliseconds = 0;
  driver::check(api, api.cuEventElapsedTime(&milliseconds, start.get(), end.get()),
                "cuEventElapsedTime");
  return static_cast<double>(milliseconds) / 1000;
}

}  // namespace

bool cuda_engine_is_built() {
  return true;
}

Result<std::unique_ptr<Engine>> make_cuda_engine(const ModelConfig& model,
                                                 const EngineConfig& config,
                                                 const CudaEngineOptions& options) {
  TRY_VOID(model.validate());
  TRY_VOID(config.validate());
  TRY_VOID(check_shape(model));
  auto backend = cuda::CudaBackend::make(model, config, options);
  if (!backend) return fail("engine on a GPU", backend.error());
  return Engine::make(std::move(*backend), config);
}

Result<double> copy_bandwidth(int gpu) {
  TRY(const auto context, driver::Context::open(gpu));
  try {
    const driver::DeviceMemory from(context.api(), copied_bytes);
    const driver::DeviceMemory to(context.api(), copied_bytes);
    std::vector<double> seconds;
    seconds.reserve(copies);
    for (int i = 0; i < copies; ++i) {
      seconds.push_back(seconds_of_copy(context.api(), from.address(), to.address()));
    }
    return 2 * static_cast<double>(copied_bytes) / median(seconds);
  } catch (const driver::DeviceError& error) {
    return fail(ErrorCode::infrastructure, error.what());
  }
}

}  // namespace warpsmith::policy
