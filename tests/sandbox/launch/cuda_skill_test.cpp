// SPDX-License-Identifier: Apache-2.0
// Runs the examples of contract `device`'s SKILL.md on a GPU and checks their results.
#include <algorithm>
#include <cmath>

#include "runtime/random_stream.hpp"
#include "tests/sandbox/launch/gpu_candidate.hpp"
#include "tests/sandbox/workspace/skill_blocks.hpp"

namespace warpsmith::sandbox {
namespace {

using testing::GpuCandidate;

using Values = std::vector<float>;

class CudaSkillTest : public testing::OnGpu {
 protected:
  /// Values between −1 and 1 from the tensor's own stream.
  static Values drawn(const TensorSpec& tensor) {
    RandomStream random(11, tensor.name);
    Values values(tensor_bytes(tensor) / sizeof(float));
    for (float& value : values) value = static_cast<float>(random.below(2001)) / 1000 - 1;
    return values;
  }

  /// The output of the plan in `files` on inputs from `drawn`.
  Values output(const FileSet& files) {
    signature_ = testing::skill_signature({testing::output_of(files.at(plan_file))});
    GpuCandidate candidate(signature_, files.at(plan_file), files.at(device_source_file));
    for (size_t i = 0; i + 1 < signature_.tensors.size(); ++i) {
      candidate.put(i, drawn(signature_.tensors[i]));
    }
    const CallResult result = candidate.once();
    if (result.fault) throw std::runtime_error(result.fault->detail);
    return candidate.get<float>(signature_.tensors.size() - 1);
  }

  Values drawn(const std::string& name) const {
    const auto found = std::ranges::find(signature_.tensors, name, &TensorSpec::name);
    return drawn(*found);
  }

  /// Plans that contain `text`.
  static std::vector<FileSet> plans_with(const std::string& text) {
    std::vector<FileSet> found = testing::skill_solutions();
    std::erase_if(found, [&](const FileSet& files) {
      return files.at(plan_file).find(text) == std::string::npos;
    });
    return found;
  }

  TaskSignature signature_;
};

TEST_F(CudaSkillTest, VectorsAndTensorMapsScaleEveryElement) {
  for (const auto& [launch, by] : {std::pair{"\"scale_by_4\"", 0.125F}, {"\"boxes\"", 2.0F}}) {
    const auto plans = plans_with(launch);
    ASSERT_EQ(plans.size(), 1U) << launch;
    const Values y = output(plans.front()), x = drawn("x");
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], by * x[i]) << launch << " at " << i;
  }
}

TEST_F(CudaSkillTest, ClustersAddUpRowsBetweenAMemsetAndACopy) {
  const auto plans = plans_with("\"row_sums\"");
  ASSERT_EQ(plans.size(), 1U);
  const Values sums = output(plans.front()), x = drawn("x");
  const size_t columns = x.size() / sums.size();
  for (size_t r = 0; r < sums.size(); ++r) {
    double sum = 0;
    for (size_t c = 0; c < columns; ++c) sum += x[r * columns + c];
    ASSERT_NEAR(sums[r], sum, 1e-3) << r;  // 1,024 terms of at most 1 in float32
  }
}

TEST_F(CudaSkillTest, ProductsHaveTheirBiasAndActivation) {
  const auto plans = plans_with("\"bias_relu\"");
  ASSERT_EQ(plans.size(), 1U);
  const Values y = output(plans.front()), x = drawn("x"), w = drawn("linear.weight"),
               bias = drawn("linear.bias");
  const size_t width = 1024, out = bias.size();
  for (size_t at = 0; at < y.size(); at += 997) {  // prime to both extents
    double sum = bias[at % out];
    for (size_t k = 0; k < width; ++k) {
      sum += static_cast<double>(x[at / out * width + k]) * w[at % out * width + k];
    }
    ASSERT_NEAR(y[at], std::max(sum, 0.0), 1e-3) << at;
  }
}

}  // namespace
}  // namespace warpsmith::sandbox
