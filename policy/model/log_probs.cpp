// SPDX-License-Identifier: Apache-2.0
#include "policy/model/log_probs.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_log_softmax.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

namespace warpsmith::policy {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Calls `visit(first, count)` over all rows, at most `chunk` at a time.
template <class Visit>
void for_each_chunk(int64_t rows, int64_t chunk, const Visit& visit) {
  for (int64_t first = 0; first < rows; first += chunk) {
    visit(first, std::min(chunk, rows - first));
  }
}

at::ScalarType wide_type(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

/// Logits / temperature of rows [first, first + count), at least float32.
at::Tensor chunk_logits(const at::Tensor& hidden, const at::Tensor& head, double temperature) {
  at::Tensor logits = at::linear(hidden, head).to(wide_type(hidden));
  return temperature == 1.0 ? logits : logits.div_(temperature);
}

/// On a GPU one kernel goes from logits to log-probabilities.
bool is_fused(const at::Tensor& hidden) {
  return hidden.is_cuda();
}

at::Tensor fused_log_softmax(const at::Tensor& hidden, const at::Tensor& head, double temperature) {
  return at::_log_softmax(chunk_logits(hidden, head, temperature), 1, /*half_to_float=*/false);
}

/// Rows of logits that are held at once.
int64_t rows_at_once(const at::Tensor& head, int64_t elements) {
  constexpr int64_t default_elements = int64_t{1} << 22;
  constexpr int64_t gpu_rows = 2048;  // fewer would leave a GPU's multiprocessors idle
  if (elements == 0 && head.is_cuda()) return gpu_rows;
  return std::max<int64_t>(1, (elements == 0 ? default_elements : elements) / head.size(0));
}

/// The arguments of HeadFunction that have no gradient.
struct HeadChunks {
  at::Tensor head;  // the computed one
  at::Tensor targets;
  double temperature;
  int64_t rows;  // at once
};

struct HeadFunction : torch::autograd::Function<HeadFunction> {
  static variable_list forward(AutogradContext* ctx, const at::Tensor& hidden,
                               const at::Tensor& trained, const HeadChunks& how) {
    const at::Tensor& head = how.head;
    const at::Tensor& targets = how.targets;
    const int64_t rows = hidden.size(0);
    const auto wide = hidden.options().dtype(wide_type(hidden));
    at::Tensor log_probs = at::empty({rows}, wide);
    at::Tensor entropy = at::empty({rows}, wide);
    at::Tensor normaliser = at::empty({rows}, wide);
    for_each_chunk(rows, how.rows, [&](int64_t first, int64_t count) {
      const auto part = [&](const at::Tensor& x) { return x.narrow(0, first, count); };
      if (is_fused(hidden)) {
        const at::Tensor log_p = fused_log_softmax(part(hidden), head, how.temperature);
        part(log_probs).copy_(log_p.gather(1, part(targets).unsqueeze(1)).squeeze(1));
        part(entropy).copy_(log_p.exp().mul_(log_p).sum(1).neg_());
        return;
      }
      const at::Tensor logits = chunk_logits(part(hidden), head, how.temperature);
      const at::Tensor lse = at::logsumexp(logits, 1, /*keepdim=*/true);
      const at::Tensor chosen = logits.gather(1, part(targets).unsqueeze(1));
      part(normaliser).copy_(lse.squeeze(1));
      part(log_probs).copy_((chosen - lse).squeeze(1));
      const at::Tensor probabilities = (logits - lse).exp_();
      part(entropy).copy_(lse.squeeze(1) - probabilities.mul_(logits).sum(1));
    });
    ctx->save_for_backward({hidden, head, targets, normaliser, entropy});
    ctx->set_materialize_grads(false);  // the gradient of an unused output stays undefined
    ctx->saved_data["temperature"] = how.temperature;
    ctx->saved_data["rows"] = how.rows;
    ctx->saved_data["trained"] = trained.scalar_type();
    return {log_probs, entropy};
  }

  /// With p = softmax(l), H its entropy: d log p_y / dl = onehot(y) - p, dH / dl = -p (log p + H).
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &hidden = saved[0], &head = saved[1], &targets = saved[2];
    const double temperature = ctx->saved_data["temperature"].toDouble();
    const int64_t rows = ctx->saved_data["rows"].toInt();
    at::Tensor d_hidden = at::empty_like(hidden);
    // A frozen head has none.
    at::Tensor d_head = ctx->needs_input_grad(1)
                            ? at::zeros_like(head, ctx->saved_data["trained"].toScalarType())
                            : at::Tensor();
    for_each_chunk(hidden.size(0), rows, [&](int64_t first, int64_t count) {
      const auto part = [&](const at::Tensor& x) { return x.narrow(0, first, count); };
      const auto column = [&](const at::Tensor& x) { return part(x).unsqueeze(1); };
      at::Tensor log_p = is_fused(hidden)
                             ? fused_log_softmax(part(hidden), head, temperature)
                             : chunk_logits(part(hidden), head, temperature).sub_(column(saved[3]));
      at::Tensor d_logits = log_p.exp();
      if (grads[1].defined()) {
        log_p.add_(column(saved[4])).mul_(column(grads[1]));
        if (grads[0].defined()) log_p.add_(column(grads[0]));
        d_logits.mul_(log_p).neg_();
      } else {
        d_logits.mul_(column(grads[0])).neg_();
      }
      if (grads[0].defined()) d_logits.scatter_add_(1, column(targets), column(grads[0]));
      if (temperature != 1.0) d_logits.div_(temperature);
      d_logits = d_logits.to(hidden.scalar_type());
      part(d_hidden).copy_(d_logits.mm(head));
      if (!d_head.defined()) return;
      if (d_head.scalar_type() == hidden.scalar_type()) {
        d_head.addmm_(d_logits.t(), part(hidden));
      } else {
        d_head.add_(d_logits.t().mm(part(hidden)));
      }
    });
    return {d_hidden, d_head, at::Tensor()};
  }
};

}  // namespace

TokenLogProbs token_log_probs(const at::Tensor& hidden, const HeadPair& head,
                              const at::Tensor& targets, const LogProbOptions& options) {
  const HeadChunks how{head.computed, targets, options.temperature,
                       rows_at_once(head.computed, options.chunk_elements)};
  const variable_list both = HeadFunction::apply(hidden, head.trained, how);
  return {both[0], both[1]};
}

}  // namespace warpsmith::policy
