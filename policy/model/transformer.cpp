// SPDX-License-Identifier: Apache-2.0
#include "policy/model/transformer.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "policy/model/attention.hpp"
#include "policy/model/offload.hpp"
#include "policy/model/rope.hpp"
#include "policy/model/weights.hpp"

namespace warpsmith::policy {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// The first half of the gated feed-forward block (SwiGLU; Shazeer, arXiv 2002.05202, eq. 6):
/// x (T, H) → (T, F): silu(gate(x)) * up(x).
at::Tensor gated_units(const LayerWeights& layer, const at::Tensor& x) {
  const at::Tensor both = at::linear(x, layer.gate_up, layer.gate_up_bias);
  // The gradient of `chunk` is one copy; the gradient of two `narrow` calls fills and adds two
  // whole tensors.
  const std::vector<at::Tensor> gate_up = both.chunk(2, -1);
  return at::silu(gate_up[0]) * gate_up[1];
}

/// x (T, H) → (T, H): down(gated_units(x)).
at::Tensor feed_forward(const LayerWeights& layer, const at::Tensor& x) {
  return at::linear(gated_units(layer, x), layer.down, layer.down_bias);
}

// Rows of the feed-forward block that are computed together: enough for efficient matrix products,
// and 0.5 GB for Qwen3-1.7B in bf16.
constexpr int64_t chunk_rows = 16'384;

at::Tensor add_feed_forward(const PackContext& pack, const LayerWeights& layer,
                            const at::Tensor& x) {
  return x + feed_forward(layer, rms_norm(x, layer.post_norm, pack.config.rms_eps));
}

at::Tensor input_of_attention(const PackContext& pack, const LayerWeights& layer,
                              const at::Tensor& x) {
  return rms_norm(x, layer.input_norm, pack.config.rms_eps);
}

at::Tensor leaf_of(const at::Tensor& x) {
  return x.detach().requires_grad_();
}

/// Marks the layer's trained parameters, in their order; the others are frozen.
using Trained = std::vector<bool>;

variable_list leaves_of(const LayerWeights& layer, const Trained& trained) {
  variable_list leaves = layer.parameters();
  for (size_t i = 0; i < leaves.size(); ++i) {
    leaves[i] = trained[i] ? leaf_of(leaves[i]) : leaves[i].detach();
  }
  return leaves;
}

/// Gradients of `output` in `first` and in those of `rest` from `begin` to `end` that are trained;
/// undefined for the others.
variable_list gradients_in(const at::Tensor& output, const at::Tensor& grad,
                           const at::Tensor& first, const variable_list& rest, size_t begin,
                           size_t end) {
  variable_list inputs{first};
  for (size_t i = begin; i < end; ++i) {
    if (rest[i].requires_grad()) inputs.push_back(rest[i]);
  }
  variable_list found = torch::autograd::grad({output}, inputs, {grad});
  variable_list all{std::move(found[0])};
  size_t next = 1;
  for (size_t i = begin; i < end; ++i) {
    all.push_back(rest[i].requires_grad() ? std::move(found[next++]) : at::Tensor());
  }
  return all;
}

/// The backward pass of one layer needs these in addition to tensors of the forward pass.
struct LayerCall final : torch::CustomClassHolder {
  LayerCall(std::shared_ptr<const PackContext> p, LayerWeights w, std::shared_ptr<LayerStash> s)
      : pack(std::move(p)), computed(std::move(w)), stash(std::move(s)) {}

  std::shared_ptr<const PackContext> pack;
  LayerWeights computed;
  std::shared_ptr<LayerStash> stash;  // holds the layer's saved tensors; null: the graph does
};

/// The gradient of a layer, in two halves.
class LayerBackward {
 public:
  LayerBackward(const LayerCall& call, const at::Tensor& x, const Trained& trained)
      : pack_(*call.pack),
        x_(leaf_of(x)),
        leaves_(leaves_of(call.computed, trained)),
        layer_(call.computed.with(leaves_)),
        split_(layer_.attention_parameters()) {}

  /// The gradient of x, then of each trained parameter, at least float32.
  variable_list run(const at::Tensor& grad, const SavedAttention& kept) const {
    const at::AutoGradMode with_gradients{true};
    const at::Tensor middle =
        x_ + attend_from_saved(pack_, layer_, input_of_attention(pack_, layer_, x_), kept);
    auto [grad_middle, rest] = feed_forward_half(middle.detach(), grad);
    variable_list all = gradients_in(middle, grad_middle, x_, leaves_, 0, split_);
    all.insert(all.end(), std::make_move_iterator(rest.begin()),
               std::make_move_iterator(rest.end()));
    return all;
  }

 private:
  /// Gradients of the block's input and of its parameters.
  std::pair<at::Tensor, variable_list> feed_forward_half(const at::Tensor& input,
                                                         const at::Tensor& grad) const {
    at::Tensor grad_input = at::empty_like(input);
    variable_list sums(leaves_.size() - split_);
    for (int64_t first = 0; first < input.size(0); first += chunk_rows) {
      const int64_t count = std::min(chunk_rows, input.size(0) - first);
      const variable_list grads =
          feed_forward_chunk(input.narrow(0, first, count), grad.narrow(0, first, count));
      grad_input.narrow(0, first, count).copy_(grads[0]);
      for (size_t i = 0; i < sums.size(); ++i) add_to(sums[i], grads[i + 1]);
    }
    return {grad_input, sums};
  }

  /// Gradients of x + down(units(x)) in x and the parameters. Does not compute the sum itself.
  variable_list feed_forward_chunk(const at::Tensor& input, const at::Tensor& grad) const {
    const at::Tensor part = leaf_of(input);
    const at::Tensor units =
        gated_units(layer_, rms_norm(part, layer_.post_norm, pack_.config.rms_eps));
    const size_t down = split_ + (layer_.gate_up_bias.defined() ? 3 : 2);
    variable_list grads =
        gradients_in(units, grad.mm(layer_.down.detach()), part, leaves_, split_, down);
    const at::NoGradGuard no_grad;
    grads[0] = grads[0] + grad;
    grads.push_back(layer_.down.requires_grad() ? grad.t().mm(units) : at::Tensor());
    if (layer_.down_bias.defined()) {
      grads.push_back(layer_.down_bias.requires_grad() ? grad.sum(0) : at::Tensor());
    }
    return grads;
  }

  static void add_to(at::Tensor& sum, const at::Tensor& part) {
    if (!part.defined()) return;
    const at::NoGradGuard no_grad;
    const bool wide = part.scalar_type() == at::kDouble;
    if (!sum.defined()) sum = at::zeros_like(part, wide ? at::kDouble : at::kFloat);
    sum.add_(part);
  }

  const PackContext& pack_;
  at::Tensor x_;
  variable_list leaves_;
  LayerWeights layer_;
  size_t split_;  // leaves of attention come before it, others after
};

struct LayerFunction : torch::autograd::Function<LayerFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, at::TensorList trained,
                            const c10::intrusive_ptr<LayerCall>& call) {
    const PackContext& pack = *call->pack;
    const LayerWeights& layer = call->computed;
    SavedAttention kept;
    const at::Tensor middle =
        x + attend_and_save(pack, layer, input_of_attention(pack, layer, x), kept);
    at::Tensor out = at::empty_like(x);
    for (int64_t first = 0; first < x.size(0); first += chunk_rows) {
      const int64_t count = std::min(chunk_rows, x.size(0) - first);
      out.narrow(0, first, count)
          .copy_(add_feed_forward(pack, layer, middle.narrow(0, first, count)));
    }
    LayerInputs inputs{x, kept.output};
    if (call->stash) call->stash->push(std::exchange(inputs, {}));
    ctx->save_for_backward({inputs.x, inputs.output, kept.log_sum_exp, kept.seed, kept.offset});
    ctx->saved_data["call"] = at::IValue::make_capsule(call);
    ctx->saved_data["parameters"] = static_cast<int64_t>(trained.size());
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const auto call =
        c10::static_intrusive_pointer_cast<LayerCall>(ctx->saved_data["call"].toCapsule());
    const LayerInputs inputs = call->stash ? call->stash->pop() : LayerInputs{saved[0], saved[1]};
    Trained trained;
    for (int64_t i = 0; i < ctx->saved_data["parameters"].toInt(); ++i) {
      trained.push_back(ctx->needs_input_grad(static_cast<size_t>(i) + 1));  // x comes before
    }
    variable_list all = LayerBackward{*call, inputs.x, trained}.run(
        grads[0], {inputs.output, saved[2], saved[3], saved[4]});
    all.emplace_back();  // `call` has no gradient
    return all;
  }
};

/// One layer: attention, then the feed-forward block, each added to its input. x (T, H) → (T, H).
at::Tensor run_layer(const PackContext& pack, const LayerWeights& layer, const at::Tensor& x,
                     const LayerPast& past) {
  const at::Tensor middle = x + attend(pack, layer, input_of_attention(pack, layer, x), past);
  return add_feed_forward(pack, layer, middle);
}

/// A layer's parameters as they are trained, and the copy that it computes with. The copy may have
/// a narrower type, and no gradients reach it.
struct LayerPair {
  const LayerWeights& trained;
  const LayerWeights& computed;
};

/// One layer with gradients in x and the trained parameters, of their types. Saves x and the state
/// of attention; the backward pass recomputes the rest, the feed-forward block in chunks of rows.
/// With a stash, which all layers of a pass share, x and the output of attention are in host memory
/// between the two passes; the numbers are the same.
at::Tensor run_layer_recomputed(const std::shared_ptr<const PackContext>& pack,
                                const LayerPair& layer, const at::Tensor& x,
                                const std::shared_ptr<LayerStash>& stash) {
  const std::vector<at::Tensor> trained = layer.trained.parameters();
  return LayerFunction::apply(x, at::TensorList(trained),
                              c10::make_intrusive<LayerCall>(pack, layer.computed, stash));
}

/// The position of every packed token in its sequence, including the past: (T) int64.
at::Tensor positions_of(const PackedBatch& batch, std::span<SequenceCache* const> caches) {
  at::Tensor positions = at::empty({batch.tokens.size(0)}, at::TensorOptions(at::kLong));
  int64_t* out = positions.mutable_data_ptr<int64_t>();
  for (size_t i = 0; i < batch.lengths.size(); ++i) {
    const int64_t past = caches.empty() ? 0 : caches[i]->length();
    std::iota(out, out + batch.lengths[i], past);
    out += batch.lengths[i];
  }
  return positions;
}

/// (B + 1) int32.
at::Tensor bounds_of(const std::vector<int64_t>& lengths) {
  at::Tensor bounds =
      at::empty({static_cast<int64_t>(lengths.size()) + 1}, at::TensorOptions(at::kInt));
  int32_t* out = bounds.mutable_data_ptr<int32_t>();
  *out = 0;
  for (const int64_t length : lengths) {
    out[1] = *out + static_cast<int32_t>(length);
    ++out;
  }
  return bounds;
}

void check_lengths(const PackedBatch& batch) {
  int64_t total = 0;
  for (const int64_t length : batch.lengths) {
    if (length < 1) throw std::invalid_argument("packed batch: a sequence without tokens");
    total += length;
  }
  if (total == batch.tokens.size(0) && total > 0) return;
  throw std::invalid_argument(fmt::format("packed batch: lengths add up to {}, tokens are {}",
                                          total, batch.tokens.size(0)));
}

}  // namespace

PackedBatch pack_sequences(std::span<const std::vector<int32_t>> sequences) {
  PackedBatch batch;
  int64_t total = 0;
  for (const auto& sequence : sequences) {
    batch.lengths.push_back(static_cast<int64_t>(sequence.size()));
    total += batch.lengths.back();
  }
  batch.tokens = at::empty({total}, at::TensorOptions(at::kLong));
  int64_t* out = batch.tokens.mutable_data_ptr<int64_t>();
  for (const auto& sequence : sequences) out = std::copy(sequence.begin(), sequence.end(), out);
  check_lengths(batch);
  return batch;
}

Transformer::Transformer(ModelConfig config, ModelWeights weights, ComputeOptions compute)
    : config_(std::move(config)),
      weights_(std::move(weights)),
      compute_(compute),
      computed_(weights_),
      frequencies_(rope_frequencies(config_).to(weights_.embed.device())) {
  if (!compute.type || *compute.type == weights_.embed.scalar_type()) return;
  computed_ = weights_.converted(at::TensorOptions(*compute.type));
  compute_.recompute = true;
}

Transformer Transformer::copy_on(at::Device device) const {
  return {config_, weights_.copy_on(device), compute_};
}

void Transformer::refresh() {
  if (!computed_.embed.is_same(weights_.embed)) computed_.copy_from(weights_);
}

at::Tensor Transformer::forward(const PackedBatch& batch) const {
  return run(batch, {});
}

at::Tensor Transformer::forward(const PackedBatch& batch,
                                std::span<SequenceCache* const> caches) const {
  if (caches.size() != batch.lengths.size()) {
    throw std::invalid_argument("packed batch: one cache per sequence is needed");
  }
  const at::NoGradGuard no_grad;
  at::Tensor hidden = run(batch, caches);
  for (size_t i = 0; i < caches.size(); ++i) caches[i]->advance(batch.lengths[i]);
  return hidden;
}

at::Tensor Transformer::run(const PackedBatch& batch,
                            std::span<SequenceCache* const> caches) const {
  check_lengths(batch);
  const at::Device device = computed_.embed.device();
  const auto pack = std::make_shared<const PackContext>(PackContext{
      config_,
      rope_angles(frequencies_, positions_of(batch, caches).to(device),
                  computed_.embed.scalar_type(), rope_magnitude(config_)),
      batch.lengths, device.is_cuda() ? bounds_of(batch.lengths).to(device) : at::Tensor()});
  const bool recompute = compute_.recompute && at::GradMode::is_enabled() && caches.empty();
  const auto stash = recompute && compute_.stash ? std::make_shared<LayerStash>(device) : nullptr;
  at::Tensor hidden = embed(batch.tokens.to(device));
  for (size_t i = 0; i < computed_.layers.size(); ++i) {
    const LayerWeights& layer = computed_.layers[i];
    hidden = recompute ? run_layer_recomputed(pack, {weights_.layers[i], layer}, hidden, stash)
                       : run_layer(*pack, layer, hidden, {caches, static_cast<int64_t>(i)});
  }
  return rms_norm(hidden, weights_.final_norm.to(hidden.scalar_type()), config_.rms_eps);
}

/// With gradients in the trained embedding.
at::Tensor Transformer::embed(const at::Tensor& tokens) const {
  if (!at::GradMode::is_enabled()) return at::embedding(computed_.embed, tokens);
  return at::embedding(weights_.embed, tokens).to(computed_.embed.scalar_type());
}

at::Tensor Transformer::logits(const at::Tensor& hidden) const {
  return at::linear(hidden, computed_.head);
}

ActionPack plan_actions(std::span<const MaskedTokens> sequences) {
  std::vector<std::vector<int32_t>> inputs;
  std::vector<int64_t> rows;
  std::vector<int64_t> targets;
  int64_t first = 0;
  for (const MaskedTokens& s : sequences) {
    size_t last = 0;
    for (size_t t = 1; t < s.tokens.size(); ++t) {
      if (s.mask[t] != 1) continue;
      rows.push_back(first + static_cast<int64_t>(t) - 1);
      targets.push_back(s.tokens[t]);
      last = t;
    }
    if (last == 0) throw std::invalid_argument("action pack: a sequence without scored tokens");
    inputs.emplace_back(s.tokens.begin(), s.tokens.begin() + static_cast<std::ptrdiff_t>(last));
    first += static_cast<int64_t>(last);
  }
  return {pack_sequences(inputs), index_tensor(rows), index_tensor(targets)};
}

at::Tensor index_tensor(const std::vector<int64_t>& values) {
  return at::tensor(values, at::kLong);
}

}  // namespace warpsmith::policy
