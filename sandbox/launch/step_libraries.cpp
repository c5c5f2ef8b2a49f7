// SPDX-License-Identifier: Apache-2.0
#include "sandbox/launch/step_libraries.hpp"

#include <algorithm>

namespace warpsmith::sandbox {
namespace {

template <class Step>
bool has(const BoundPlan& plan) {
  return std::ranges::any_of(
      plan.steps, [](const BoundStep& step) { return std::holds_alternative<Step>(step.what); });
}

template <class Library>
Result<void> open(std::unique_ptr<Library>& library, const cuda::Context& context) {
  if (library) return {};
  auto opened = Library::open(context);
  if (!opened) return tl::unexpected(std::move(opened.error()));
  library = std::move(*opened);
  return {};
}

}  // namespace

Result<void> StepLibraries::open_for(const BoundPlan& plan, const cuda::Context& context) {
  if (has<BoundGemm>(plan)) {
    if (auto done = open(gemm, context); !done) return done;
  }
  return has<BoundConv>(plan) ? open(conv, context) : Result<void>{};
}

}  // namespace warpsmith::sandbox
