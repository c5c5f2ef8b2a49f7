// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/cuda/cuda_backend.hpp"

#include <stdexcept>
#include <utility>

#include "policy/generate/cuda/memory_plan.hpp"
#include "runtime/cuda/device_error.hpp"

namespace warpsmith::policy::cuda {
namespace driver = warpsmith::cuda;

namespace {

constexpr int oldest_major = 8;  // compute capability of the oldest GPUs: bf16 products

Result<void> check_device(const driver::Context& context, int gpu) {
  const int major = context.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  if (major >= oldest_major) return {};
  return fail(ErrorCode::unsupported,
              "GPU " + std::to_string(gpu) + ": expected compute capability 8.0 or newer, got " +
                  std::to_string(major) + "." +
                  std::to_string(context.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)));
}

}  // namespace

Result<std::unique_ptr<CudaBackend>> CudaBackend::make(const ModelConfig& model,
                                                       const EngineConfig& config,
                                                       const CudaEngineOptions& options) {
  auto context = driver::Context::open(options.gpu);
  if (!context) return tl::unexpected(context.error());
  try {
    if (auto ok = check_device(*context, options.gpu); !ok) return tl::unexpected(ok.error());
    const MemoryPlan plan = plan_memory(model, config, options.precision);
    const auto free = static_cast<int64_t>(context->memory().free);
    if (auto ok = check_memory(plan, config, free); !ok) {
      return fail("GPU " + std::to_string(options.gpu), ok.error());
    }
    std::unique_ptr<CudaBackend> backend(
        new CudaBackend(std::move(*context), model, config, options));
    if (auto ok = backend->start_blas(); !ok) return tl::unexpected(ok.error());
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
  // The GPU may still use what is destroyed next; an error was or will be reported elsewhere.
  (void)context_.api().cuStreamSynchronize(stream_.get());
}

Result<void> CudaBackend::start_blas() {
  auto blas =
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

}  // namespace warpsmith::policy::cuda
