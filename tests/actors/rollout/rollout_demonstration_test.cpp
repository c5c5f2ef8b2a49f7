// SPDX-License-Identifier: Apache-2.0
// A demonstration played through the machine, the grammar and the real tools produces the same
// tokens and mask as in supervised learning, so the policy acts on the boundaries it learnt.
#include "sandbox/workspace/tool_box.hpp"
#include "sandbox/workspace/tool_schemas.hpp"
#include "tests/actors/rollout/rollout_fixture.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::actors {
namespace {

/// Tools without a shell and a judge: begin() returns submissions.
class NoServices : public sandbox::ToolServices {
 public:
  Result<sandbox::ShellResult> shell(const sandbox::ShellRequest& /*request*/) override {
    return fail(ErrorCode::unsupported, "no shell in this test");
  }
  Result<sandbox::JobReport> job(const sandbox::JobRequest& /*request*/) override {
    return fail(ErrorCode::unsupported, "no jobs in this test");
  }
};

std::vector<policy::ChatMessage> demonstration() {
  const std::string edit = call_text(
      "edit",
      "<parameter=path>\nsolution/kernel.cpp\n</parameter>\n<parameter=old_string>\nint a;\n"
      "</parameter>\n<parameter=new_string>\nint b;\n</parameter>\n");
  return {{"user", "task"},
          {"assistant", write_text("int a;\nint c;"), true},
          {"tool", "wrote solution/kernel.cpp (2 lines)"},
          {"assistant", call_text("verify"), true},
          {"tool", "wrong: set 2 (sparse): error 41 times the bound"},
          {"assistant", edit, true},
          {"tool", "edited solution/kernel.cpp (1 replacement)"},
          {"assistant", call_text("submit"), true}};
}

class RolloutDemonstrationTest : public RolloutFixture {
 protected:
  void SetUp() override {
    base_.emplace(std::move(*sandbox::WorkspaceBase::open(folder_.path())));
    workspace_.emplace(std::move(*base_->create("trajectory-7", {})));
    sandbox::ToolBoxConfig config;
    config.tools = sandbox::all_tools();
    box_.emplace(*workspace_, config);
  }
  void TearDown() override {
    box_.reset();
    workspace_.reset();
    base_.reset();
  }

  /// Answers every command, as executor, sandbox and ledger, until the model must sample again.
  void serve(RolloutCommands commands) {
    while (!commands.empty()) {
      RolloutCommands next;
      for (const RolloutCommand& command : commands) {
        if (const auto* call = std::get_if<ToolCall>(&command)) next = run(*call);
        if (const auto* wanted = std::get_if<EvaluateCall>(&command)) next = verdict(*wanted);
        if (const auto* segment = std::get_if<Segment>(&command)) segments_.push_back(*segment);
        if (const auto* closed = std::get_if<Closed>(&command)) outcome_ = closed->outcome;
      }
      commands = std::move(next);
    }
  }
  RolloutCommands run(const ToolCall& call) {
    const auto step = box_->begin({call.name, call.arguments}, services_);
    ToolAnswer answer{call.trajectory, call.turn, step->text, step->judge.has_value()};
    if (step->judge) answer.submission = step->judge->submission;
    if (step->judge) answer.request = step->judge->request;
    return machine_->tool_answered(answer);
  }
  RolloutCommands verdict(const EvaluateCall& wanted) {
    if (wanted.request.want == Request::final) {
      EXPECT_EQ(wanted.request.submission.files.at("kernel.cpp"), "int b;\nint c;");
      return machine_->judged(wanted.turn, passed_verdict());
    }
    Verdict wrong;
    wrong.feedback = "wrong: set 2 (sparse): error 41 times the bound";
    return machine_->judged(wanted.turn, wrong);
  }

  test_support::TemporaryFolder folder_;
  std::optional<sandbox::WorkspaceBase> base_;
  std::optional<sandbox::Workspace> workspace_;
  std::optional<sandbox::ToolBox> box_;
  NoServices services_;
  std::vector<Segment> segments_;
  Outcome outcome_;
};

TEST_F(RolloutDemonstrationTest, ActingAndLearningUseTheSameTokens) {
  std::vector<int32_t> tokens;
  std::vector<uint8_t> mask;
  for (const policy::ChatPiece& piece : policy::chat_pieces(demonstration())) {
    const auto encoded = encode_marked(piece.text);
    tokens.insert(tokens.end(), encoded.begin(), encoded.end());
    mask.insert(mask.end(), encoded.size(), piece.action ? 1 : 0);
  }

  make(toy_setup(), policy::chat_prompt("", "task"));
  serve(admit());
  for (const policy::ChatMessage& message : demonstration()) {
    if (message.role == "assistant") serve(say(message.content));
  }

  EXPECT_EQ(machine_->phase(), RolloutPhase::finished);
  EXPECT_EQ(outcome_.reward, 3.0);
  EXPECT_EQ(outcome_.tool_calls, 4U);
  std::vector<int32_t> acted;
  std::vector<uint8_t> acted_mask;
  for (const Segment& s : segments_) {
    acted.insert(acted.end(), s.tokens.begin(), s.tokens.end());
    acted_mask.insert(acted_mask.end(), s.action_mask.begin(), s.action_mask.end());
  }
  EXPECT_EQ(decode_bytes(acted), decode_bytes(tokens));
  EXPECT_EQ(acted_mask, mask);
}

}  // namespace
}  // namespace warpsmith::actors
