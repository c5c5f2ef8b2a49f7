// SPDX-License-Identifier: Apache-2.0
// Numbers and names of enumerations: records hold the numbers; the database, JSON and messages the
// names.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/config/run_config.hpp"
#include "runtime/cuda/kernel_record.hpp"
#include "runtime/error_code.hpp"
#include "runtime/model_turn.hpp"
#include "runtime/submission.hpp"
#include "runtime/task.hpp"
#include "runtime/trajectory.hpp"
#include "runtime/verdict.hpp"
#include "sandbox/judge/inputs.hpp"
#include "sandbox/protocol/wire.hpp"
#include "sandbox/reference/baseline.hpp"
#include "synthesis/pool.hpp"
#include "tests/support/golden_file.hpp"

namespace warpsmith {
namespace {

/// "ENUM NUMBER NAME" for each value.
template <class Enum>
void add_names(std::set<std::string>& lines, const std::string& type) {
  for (size_t i = 0; i < enum_names<Enum>.size(); ++i) {
    lines.insert(type + ' ' + std::to_string(i) + ' ' +
                 std::string{to_string(static_cast<Enum>(i))});
  }
}

/// The same for enumerations without a function that names their values.
template <class Enum>
void add_values(std::set<std::string>& lines, const std::string& type,
                const std::vector<std::pair<Enum, std::string>>& values) {
  for (const auto& [value, name] : values) {
    lines.insert(fmt::format("{} {} {}", type, static_cast<int>(value), name));
  }
}

#define VALUE(type, name) {type::name, #name}

std::set<std::string> named_enums() {
  std::set<std::string> lines;
  add_names<VerdictClass>(lines, "VerdictClass");
  add_names<InfraKind>(lines, "InfraKind");
  add_names<Numerics>(lines, "Numerics");
  add_names<TrustClass>(lines, "TrustClass");
  add_names<DropReason>(lines, "DropReason");
  add_names<ErrorCode>(lines, "ErrorCode");
  add_names<Stage>(lines, "Stage");
  add_names<sandbox::Baseline>(lines, "Baseline");
  add_names<sandbox::Distribution>(lines, "Distribution");
  add_names<sandbox::Domain>(lines, "Domain");
  add_names<synthesis::TaskUse>(lines, "TaskUse");
  lines.insert("Outcome without a verdict " + std::string{verdict_name(Outcome{})});
  return lines;
}

std::set<std::string> numbered_enums() {
  using namespace sandbox;
  std::set<std::string> lines;
  add_values<FinishReason>(lines, "FinishReason",
                           {VALUE(FinishReason, none), VALUE(FinishReason, stop_token),
                            VALUE(FinishReason, length), VALUE(FinishReason, context)});
  add_values<Request>(lines, "Request",
                      {VALUE(Request, compile), VALUE(Request, verify), VALUE(Request, profile),
                       VALUE(Request, final), VALUE(Request, explain)});
  add_values<DeviceClass>(lines, "DeviceClass",
                          {VALUE(DeviceClass, cpu), VALUE(DeviceClass, cuda)});
  add_values<PrecisionLane>(
      lines, "PrecisionLane",
      {VALUE(PrecisionLane, fp32_strict), VALUE(PrecisionLane, tf32_allowed)});
  add_values<Dtype>(lines, "Dtype",
                    {VALUE(Dtype, f32), VALUE(Dtype, f64), VALUE(Dtype, f16), VALUE(Dtype, bf16),
                     VALUE(Dtype, i64), VALUE(Dtype, i32), VALUE(Dtype, i16), VALUE(Dtype, i8),
                     VALUE(Dtype, u8), VALUE(Dtype, boolean)});
  add_values<TensorRole>(
      lines, "TensorRole",
      {VALUE(TensorRole, input), VALUE(TensorRole, parameter), VALUE(TensorRole, output)});
  add_values<RequestKind>(
      lines, "RequestKind",
      {VALUE(RequestKind, hello), VALUE(RequestKind, evaluate), VALUE(RequestKind, ingest),
       VALUE(RequestKind, shell), VALUE(RequestKind, job), VALUE(RequestKind, health),
       VALUE(RequestKind, shutdown)});
  add_values<JobAction>(
      lines, "JobAction",
      {VALUE(JobAction, start), VALUE(JobAction, look), VALUE(JobAction, end),
       VALUE(JobAction, pause), VALUE(JobAction, resume), VALUE(JobAction, forget)});
  add_values<JobState>(lines, "JobState",
                       {VALUE(JobState, running), VALUE(JobState, over), VALUE(JobState, unknown),
                        VALUE(JobState, refused)});
  add_values<cuda::RecordKind>(lines, "RecordKind",
                               {VALUE(cuda::RecordKind, kernel), VALUE(cuda::RecordKind, copy),
                                VALUE(cuda::RecordKind, fill)});
  return lines;
}

#undef VALUE

TEST(GoldenEnumerationsTest, NumbersAndNamesStay) {
  std::set<std::string> lines = named_enums();
  lines.merge(numbered_enums());
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  test_support::expect_golden("tests/golden/interfaces/enumerations.txt", text);
}

}  // namespace
}  // namespace warpsmith
