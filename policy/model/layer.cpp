// SPDX-License-Identifier: Apache-2.0
#include "policy/model/layer.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <iterator>
#include <utility>

#include "policy/model/mlp.hpp"
#include "policy/model/norm.hpp"
#include "policy/model/row_chunks.hpp"

namespace warpsmith::policy {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

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

/// Which of a layer's parameters are trained, in their order; the others are frozen.
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

/// What the backward pass of one layer needs besides tensors of the forward one.
struct LayerCall final : torch::CustomClassHolder {
  LayerCall(std::shared_ptr<const PackContext> p, LayerWeights w, std::shared_ptr<LayerStash> s)
      : pack(std::move(p)), computed(std::move(w)), stash(std::move(s)) {}

  std::shared_ptr<const PackContext> pack;
  LayerWeights computed;
  std::shared_ptr<LayerStash> stash;  // holds what the layer keeps; null: the graph does
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
  variable_list run(const at::Tensor& grad, const KeptAttention& kept) const {
    const at::AutoGradMode with_gradients{true};
    const at::Tensor middle =
        x_ + attend_again(pack_, layer_, input_of_attention(pack_, layer_, x_), kept);
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
    for_each_chunk(input.size(0), chunk_rows, [&](int64_t first, int64_t count) {
      const variable_list grads =
          feed_forward_chunk(input.narrow(0, first, count), grad.narrow(0, first, count));
      grad_input.narrow(0, first, count).copy_(grads[0]);
      for (size_t i = 0; i < sums.size(); ++i) add_to(sums[i], grads[i + 1]);
    });
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
    KeptAttention kept;
    const at::Tensor middle =
        x + attend_and_keep(pack, layer, input_of_attention(pack, layer, x), kept);
    at::Tensor out = at::empty_like(x);
    for_each_chunk(x.size(0), chunk_rows, [&](int64_t first, int64_t count) {
      out.narrow(0, first, count)
          .copy_(add_feed_forward(pack, layer, middle.narrow(0, first, count)));
    });
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

}  // namespace

at::Tensor run_layer(const PackContext& pack, const LayerWeights& layer, const at::Tensor& x,
                     const LayerPast& past) {
  const at::Tensor middle = x + attend(pack, layer, input_of_attention(pack, layer, x), past);
  return add_feed_forward(pack, layer, middle);
}

at::Tensor run_layer_again(const std::shared_ptr<const PackContext>& pack, const LayerPair& layer,
                           const at::Tensor& x, const std::shared_ptr<LayerStash>& stash) {
  const std::vector<at::Tensor> trained = layer.trained.parameters();
  return LayerFunction::apply(x, at::TensorList(trained),
                              c10::make_intrusive<LayerCall>(pack, layer.computed, stash));
}

}  // namespace warpsmith::policy
