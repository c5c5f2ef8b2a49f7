// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/exact_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sandbox/judge/guards.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr uint64_t block_elements = uint64_t{1} << 20U;  // a multiple of `pool`
constexpr size_t most_examples = 64;
// Of each output. Reading them from a GPU and comparing them here takes half a second.
constexpr uint64_t most_read = uint64_t{1} << 24U;

/// Whether an element still holds the pattern that outputs are filled with before a call.
bool is_poison(Dtype dtype, std::span<const std::byte> output, size_t index) {
  const uint64_t pattern = poison_pattern(dtype);
  const size_t size = element_bytes(dtype);
  const auto* bytes = reinterpret_cast<const std::byte*>(&pattern) + index * size % sizeof pattern;
  return std::memcmp(output.data() + index * size, bytes, size) == 0;
}

void count_nonfinite(double got, double expected, NonfiniteCounts& counts) {
  if (std::isfinite(got) && std::isfinite(expected)) return;
  if (std::isnan(got)) {
    ++counts.not_a_number;
  } else {
    ++(std::isinf(got) ? counts.infinite : counts.finite);
  }
}

/// Keeps every n-th element that it gets, so that at most `most_examples` are kept, evenly spread.
class Examples {
 public:
  void add(const WrongElement& one) {
    if (seen_++ % step_ != 0) return;
    kept_.push_back(one);
    if (kept_.size() < 2 * most_examples) return;
    for (size_t i = 0; i < most_examples; ++i) kept_[i] = kept_[2 * i];
    kept_.resize(most_examples);
    step_ *= 2;
  }
  std::vector<WrongElement> take() { return std::move(kept_); }

 private:
  std::vector<WrongElement> kept_;
  uint64_t seen_ = 0, step_ = 1;
};

/// The index in the output whose value lies at `index` if the last two axes are exchanged.
uint64_t exchanged(const std::vector<int64_t>& shape, uint64_t index) {
  if (shape.size() < 2) return index;
  const auto rows = static_cast<uint64_t>(shape[shape.size() - 2]);
  const auto columns = static_cast<uint64_t>(shape.back());
  const uint64_t in_matrix = index % (rows * columns);
  return index - in_matrix + in_matrix % rows * columns + in_matrix / rows;
}

/// What is wrong with the first elements of one output; without examples if nothing is.
WrongOutput wrong_output(const Bench& bench, Outputs outputs, size_t which, const TensorSpec& spec,
                         const BoundRule& rule) {
  const uint64_t count = std::min(element_count(spec), most_read);
  WrongOutput out{.name = spec.name, .shape = spec.shape, .wrong = std::vector<bool>(count)};
  Examples examples;
  for (uint64_t first = 0; first < count; first += block_elements) {
    const OutputBlock block =
        bench.read_block(outputs, which, first, std::min(block_elements, count - first));
    const Reference reference{block.value, block.spread};
    each_wrong(spec.dtype, block.output, reference, rule, [&](size_t i, double y) {
      out.wrong[first + i] = true;
      const bool unwritten = is_poison(spec.dtype, block.output, i);
      examples.add({first + i, y, block.value[i], unwritten});
      if (unwritten) {
        ++out.nonfinite.unwritten;
      } else {
        count_nonfinite(y, block.value[i], out.nonfinite);
      }
    });
  }
  out.examples = examples.take();
  for (WrongElement& one : out.examples) {
    one.exchanged =
        bench.read_block(outputs, which, exchanged(spec.shape, one.index), 1).value.front();
  }
  return out;
}

/// The outputs that were compared last: `settle` works on a copy among the worker's.
Outputs compared_outputs(const Bench& bench, Outputs outputs, uint32_t worker_set) {
  return may_contain_indices(bench.signature()) ? Outputs{Side::worker, worker_set} : outputs;
}

}  // namespace

bool may_contain_indices(const TaskSignature& signature) {
  return std::ranges::any_of(signature.tensors, [](const TensorSpec& spec) {
    return spec.role == TensorRole::output && !is_float(spec.dtype);
  });
}

OrFailure<ErrorStats> compare_exactly(Bench& bench, WorkerSession& session, Outputs outputs,
                                      uint32_t worker_set, const BoundRule& rule,
                                      Patience patience) {
  const ErrorStats stats = bench.compare_with_reference(outputs.side, outputs.set, rule);
  if (stats.right() || !may_contain_indices(bench.signature())) return stats;
  const Outputs settled{Side::worker, worker_set};
  if (outputs.side != Side::worker || outputs.set != worker_set) {
    bench.copy_outputs(outputs, settled);
  }
  TRY(const bool changed, session.settle(worker_set, patience));
  return changed ? bench.compare_with_reference(settled.side, settled.set, rule) : stats;
}

std::optional<WrongReport> wrong_report(Bench& bench, Outputs outputs, uint32_t worker_set,
                                        const BoundRule& rule, const ErrorStats& errors) {
  const Outputs compared = compared_outputs(bench, outputs, worker_set);
  std::vector<WrongOutput> wrong;
  size_t which = 0;
  for (const TensorSpec& spec : bench.signature().tensors) {
    if (spec.role != TensorRole::output) continue;
    WrongOutput one = wrong_output(bench, compared, which++, spec, rule);
    if (!one.examples.empty()) wrong.push_back(std::move(one));
  }
  if (wrong.empty()) return std::nullopt;
  return report_on(wrong, errors.wrong, errors.elements);
}

}  // namespace warpsmith::sandbox
