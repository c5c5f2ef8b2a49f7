// SPDX-License-Identifier: Apache-2.0
// The bound's margins on both sides, per operator class: honest float32 passes on every
// distribution, lower precision fails on at least one. Prints them.
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>

#include "runtime/bytes.hpp"
#include "runtime/environment.hpp"
#include "sandbox/ingest/ingest.hpp"
#include "sandbox/ingest/input_plans.hpp"
#include "sandbox/judge/host_bench.hpp"
#include "sandbox/judge/seed.hpp"
#include "tests/sandbox/ingest/arithmetic.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox::test {
namespace {

using std::chrono::seconds;

struct Buffers {
  std::span<const float> x, w;  // w: the parameter, empty if there is none
  std::span<float> y;
  size_t rows, columns;
};
using Compute = std::function<void(const Buffers&, const Arithmetic&)>;

struct OperatorClass {
  std::string name, forward, parameter;  // Python; parameter: its shape, empty for none
  size_t rows, columns;
  Compute compute;
};

constexpr auto one = [](size_t) { return 1.0F; };

void row_sum(const Buffers& b, const Arithmetic& m) {
  for (size_t r = 0; r < b.rows; ++r) {
    const float* x = &b.x[r * b.columns];
    b.y[r] = m.round(m.dot(0, b.columns, [&](size_t c) { return x[c]; }, one));
  }
}

void softmax(const Buffers& b, const Arithmetic& m) {
  for (size_t r = 0; r < b.rows; ++r) {
    const float* x = &b.x[r * b.columns];
    float* y = &b.y[r * b.columns];
    float top = m.round(x[0]);
    for (size_t c = 1; c < b.columns; ++c) top = std::max(top, m.round(x[c]));
    for (size_t c = 0; c < b.columns; ++c) y[c] = m.round(std::exp(m.round(x[c]) - top));
    const float sum = m.dot(0, b.columns, [&](size_t c) { return y[c]; }, one);
    for (size_t c = 0; c < b.columns; ++c) y[c] = m.round(y[c] / sum);
  }
}

void layer_norm(const Buffers& b, const Arithmetic& m) {
  const auto n = static_cast<float>(b.columns);
  for (size_t r = 0; r < b.rows; ++r) {
    const float* x = &b.x[r * b.columns];
    const float mean = m.dot(0, b.columns, [&](size_t c) { return x[c]; }, one) / n;
    const auto centred = [&](size_t c) { return m.round(x[c]) - mean; };
    const float scale = 1 / std::sqrt(m.dot(0, b.columns, centred, centred) / n + 1e-5F);
    for (size_t c = 0; c < b.columns; ++c) {
      b.y[r * b.columns + c] = m.round(centred(c) * scale * m.round(b.w[c]));
    }
  }
}

/// w is square: columns × columns.
void product(const Buffers& b, const Arithmetic& m) {
  for (size_t r = 0; r < b.rows; ++r) {
    for (size_t c = 0; c < b.columns; ++c) {
      b.y[r * b.columns + c] = m.round(m.dot(
          0, b.columns, [&](size_t k) { return b.x[r * b.columns + k]; },
          [&](size_t k) { return b.w[k * b.columns + c]; }));
    }
  }
}

void scan(const Buffers& b, const Arithmetic& m) {
  for (size_t r = 0; r < b.rows; ++r) {
    float sum = 0;
    for (size_t c = 0; c < b.columns; ++c) {
      sum = m.round(sum + m.round(b.x[r * b.columns + c]));
      b.y[r * b.columns + c] = sum;
    }
  }
}

void chain(const Buffers& b, const Arithmetic& m) {
  for (size_t i = 0; i < b.x.size(); ++i) {
    const float x = m.round(m.round(b.x[i]) * m.round(b.w[i % b.columns]));
    b.y[i] = m.round(x / (1 + std::exp(-x)) + x);
  }
}

/// Elementwise, by a formula in float32.
template <class Formula>
Compute each(Formula formula) {
  return [formula](const Buffers& b, const Arithmetic& m) {
    for (size_t i = 0; i < b.x.size(); ++i) b.y[i] = m.round(formula(m.round(b.x[i])));
  };
}

float gelu_by_exp(float x) {
  return x / (1 + std::exp(-1.5957691F * (x + 0.044715F * x * x * x)));
}
float gelu_by_tanh(float x) {
  return 0.5F * x * (1 + std::tanh(0.7978846F * (x + 0.044715F * x * x * x)));
}
float softplus_as_written(float x) {
  return x > 20 ? x : std::log(1 + std::exp(x));
}

std::vector<OperatorClass> operator_classes() {
  return {
      {"sum", "x.sum(-1)", "", 256, 1024, row_sum},
      {"long sum", "x.sum(-1)", "", 8, 1 << 18, row_sum},
      {"softmax", "torch.softmax(x, -1)", "", 256, 512, softmax},
      {"layer norm", "nn.functional.layer_norm(x, (x.shape[-1],), self.w)", "512", 256, 512,
       layer_norm},
      {"product", "x @ self.w", "256, 256", 64, 256, product},
      {"scan", "torch.cumsum(x, -1)", "", 64, 4096, scan},
      {"gelu, exp", "nn.functional.gelu(x, approximate='tanh')", "", 256, 512, each(gelu_by_exp)},
      {"gelu, tanh", "nn.functional.gelu(x, approximate='tanh')", "", 256, 512, each(gelu_by_tanh)},
      {"softplus", "nn.functional.softplus(x)", "", 256, 512, each(softplus_as_written)},
      {"chain", "nn.functional.silu(x * self.w) + x * self.w", "512", 256, 512, chain}};
}

std::string code_of(const OperatorClass& op) {
  const std::string parameter =
      op.parameter.empty() ? "pass" : "self.w = nn.Parameter(torch.randn(" + op.parameter + "))";
  return "import torch\nimport torch.nn as nn\nclass Model(nn.Module):\n    def __init__(self):\n"
         "        super().__init__()\n        " +
         parameter + "\n    def forward(self, x):\n        return " + op.forward +
         "\ndef get_inputs():\n    return [torch.randn(" + std::to_string(op.rows) + ", " +
         std::to_string(op.columns) + ")]\ndef get_init_inputs():\n    return []\n";
}

std::span<float> floats(const SharedBuffers& memory, size_t tensor) {
  const std::span<std::byte> bytes = memory.tensor(0, tensor);
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

/// error / bound of each arithmetic on each distribution; rows follow `all_arithmetics`.
std::vector<std::vector<double>> margins(ReferenceWorker& worker, const OperatorClass& op) {
  const Deadline deadline = Deadline::after(seconds(200));
  const std::string code = code_of(op);
  const Task task{.id = op.name, .code = code, .content_hash = sha256_hex(code)};
  const auto description = worker.load(task, deadline).value();
  const auto made = HostBench::create(description.signature).value();
  HostBench& bench = *made;
  auto session =
      worker.enter(task, bench.session_memory(), {spread_evaluations, 1}, deadline).value();
  const auto rules = rules_for(description, Domain::free);
  const SecretSeed seed{.seed = 20260131};  // the same sets in every run
  std::vector<std::vector<double>> table(all_arithmetics().size());
  uint64_t number = 0;
  for (const Distribution distribution : verified_distributions) {
    bench.fill(0, {seed.key(), ++number, distribution}, rules);
    EXPECT_TRUE(session.reference(0, deadline));
    const size_t output = description.signature.tensors.size() - 1;
    const Buffers buffers{floats(bench.inputs(), 0),
                          output > 1 ? floats(bench.inputs(), 1) : std::span<float>{},
                          floats(bench.candidate_outputs(), output), op.rows, op.columns};
    for (size_t m = 0; m < table.size(); ++m) {
      op.compute(buffers, all_arithmetics()[m]);
      table[m].push_back(
          bench.compare_with_reference(Side::candidate, 0, bound_for(spread_evaluations)).worst);
    }
  }
  EXPECT_TRUE(session.leave(deadline));
  EXPECT_TRUE(worker.finish(deadline));
  return table;
}

TEST(CalibrationTest, HonestArithmeticPassesAndLowerPrecisionFailsPerOperatorClass) {
  if (python_interpreter().empty()) GTEST_SKIP() << "no WARPSMITH_PYTHON";
  const test_support::TemporaryFolder folder;
  auto worker = ReferenceWorker::start(
      {.python = python_interpreter().string(), .cache_folder = folder.path().string()},
      Deadline::after(seconds(120)));
  ASSERT_TRUE(worker) << worker.error().message;
  std::printf("error / bound            normal  shifted     wide     huge   sparse\n");
  for (const OperatorClass& op : operator_classes()) {
    const auto table = margins(*worker, op);
    for (size_t m = 0; m < table.size(); ++m) {
      const Arithmetic arithmetic = all_arithmetics()[m];
      std::printf("%-11s %-10s", op.name.c_str(), arithmetic.name.c_str());
      for (const double worst : table[m]) std::printf(" %8.3g", worst);
      std::printf("\n");
      const auto [low, high] = std::minmax_element(table[m].begin(), table[m].end());
      SCOPED_TRACE(op.name + ' ' + arithmetic.name);
      if (arithmetic.honest()) {
        EXPECT_LT(*high, 0.7);
      } else if (op.columns <= 4096 || arithmetic.name == "bf16") {
        // Ten bits of a longer sum's terms average out to less than an honest sequential error.
        EXPECT_GT(*high, 1.5);
      }
    }
  }
}

}  // namespace
}  // namespace warpsmith::sandbox::test
