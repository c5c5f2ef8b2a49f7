// SPDX-License-Identifier: Apache-2.0
#include "actors/rollout/rollout_machine.hpp"

#include "tests/actors/rollout/rollout_fixture.hpp"

namespace warpsmith::actors {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::StartsWith;

class RolloutMachineTest : public RolloutFixture {};

TEST_F(RolloutMachineTest, AdmissionSendsTheWholePrompt) {
  make();
  EXPECT_EQ(machine_->phase(), RolloutPhase::waiting_for_admission);
  const auto call = only<GenerateCall>(admit());
  EXPECT_EQ(call.session, 7U);
  EXPECT_TRUE(call.whole);
  EXPECT_EQ(decode_bytes(call.new_tokens), "<|im_start|>user\ntask");
  EXPECT_EQ(call.credit, 1000);
  EXPECT_EQ(machine_->phase(), RolloutPhase::generating);
}

TEST_F(RolloutMachineTest, RefusedAdmissionRecordsNothing) {
  make();
  EXPECT_TRUE(machine_->admitted({}).empty());
  EXPECT_TRUE(machine_->over());
}

TEST_F(RolloutMachineTest, WriteThenSubmitEarnsTheReward) {
  make();
  admit();
  const auto call = only<ToolCall>(say(write_text()));
  EXPECT_EQ(call.name, "write");
  EXPECT_EQ(call.arguments.at("content"), "int a;");
  EXPECT_EQ(call.task.task.id, "softmax");

  const auto told = answer("wrote solution/kernel.cpp (1 line)");
  const auto next = only<GenerateCall>(told);
  EXPECT_FALSE(next.whole);
  EXPECT_EQ(decode_bytes(next.new_tokens),
            "\n<|im_start|>user\n<tool_response>\nwrote solution/kernel.cpp (1 line)\n"
            "</tool_response><|im_end|>\n<|im_start|>assistant\n");

  EXPECT_EQ(only<ToolCall>(say(call_text("submit"))).name, "submit");
  const auto judging = ask_judge(Request::final);
  EXPECT_EQ(only<Segment>(judging).number, 1U) << "the last turn is recorded before the judging";
  EXPECT_TRUE(holds<ReleaseSession>(judging));
  EXPECT_EQ(only<EvaluateCall>(judging).request.want, Request::final);

  const auto end = judge(passed_verdict());
  const auto closed = only<Closed>(end);
  EXPECT_EQ(closed.trajectory, 7U);
  EXPECT_EQ(closed.outcome.reward, 3.0);
  EXPECT_EQ(closed.outcome.verdict, VerdictClass::passed);
  EXPECT_EQ(closed.outcome.turns, 2U);
  EXPECT_EQ(closed.outcome.tool_calls, 2U);
  EXPECT_FALSE(closed.outcome.truncated);
  EXPECT_EQ(closed.outcome.speedup_eager, 2.0 - 0.01);
  EXPECT_EQ(closed.outcome.source_hash.size(), 64U);
  EXPECT_TRUE(holds<ReleaseWorkspace>(end));
  EXPECT_EQ(machine_->phase(), RolloutPhase::finished);
}

TEST_F(RolloutMachineTest, SegmentsMaskWhatTheModelDidNotSample) {
  make();
  admit();
  say(write_text());
  const auto segment = only<Segment>(answer("ok"));
  ASSERT_TRUE(segment.validate());
  EXPECT_EQ(segment.trajectory, 7U);
  EXPECT_EQ(segment.number, 0U);
  const size_t prompt = std::string("<|im_start|>user\ntask").size();
  const size_t sampled = write_text().size() + 1;
  for (size_t i = 0; i < segment.size(); ++i) {
    const bool action = i >= prompt && i < prompt + sampled;
    EXPECT_EQ(segment.action_mask[i], action ? 1 : 0) << i;
    EXPECT_EQ(segment.log_probs[i], action ? -0.5F : 0.0F) << i;
    EXPECT_EQ(segment.versions[i], action ? (PolicyVersion{1, 3}) : PolicyVersion{}) << i;
  }
  EXPECT_EQ(segment.tokens[prompt + sampled - 1], stop_token);
}

TEST_F(RolloutMachineTest, ChunksAddUpToATurn) {
  make();
  admit();
  const auto tokens = encode_bytes(write_text() + std::string(stop_text));
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    EXPECT_TRUE(send({tokens[i]}, FinishReason::none).empty());
  }
  EXPECT_EQ(only<ToolCall>(send({tokens.back()}, FinishReason::stop_token)).name, "write");
}

TEST_F(RolloutMachineTest, VerifyGoesToASandboxAndBackToTheModel) {
  make();
  admit();
  say(write_text());
  answer("wrote");
  say(call_text("verify"));
  const auto judging = ask_judge(Request::verify);
  EXPECT_FALSE(holds<Segment>(judging)) << "the turn has no result yet";
  EXPECT_EQ(machine_->phase(), RolloutPhase::judging_tool);
  Verdict wrong;
  wrong.feedback = "wrong: set 2 (sparse): error 41 times the bound";
  const auto call = only<GenerateCall>(judge(wrong));
  EXPECT_THAT(decode_bytes(call.new_tokens), HasSubstr("<tool_response>\nwrong: set 2"));
}

TEST_F(RolloutMachineTest, SeveralCallsRunInOrderAndAnswerTogether) {
  make();
  admit();
  say(write_text() + "\n" + call_text("compile"));
  EXPECT_EQ(only<ToolCall>(answer("wrote")).name, "compile");
  ask_judge(Request::compile);
  const auto text = decode_bytes(only<GenerateCall>(judge(passed_verdict())).new_tokens);
  EXPECT_THAT(text, HasSubstr("wrote\n</tool_response>\n<tool_response>\ncompiled\n"));
}

TEST_F(RolloutMachineTest, AMalformedCallUsesUpATurnNotTheTrajectory) {
  make();
  admit();
  const auto commands = say("<tool_call>\n<function=write>\n<oops>");
  EXPECT_FALSE(holds<ToolCall>(commands));
  EXPECT_THAT(decode_bytes(only<GenerateCall>(commands).new_tokens),
              HasSubstr("error: malformed tool call: line 3: expected `<parameter=KEY>`"));
  EXPECT_EQ(only<Segment>(commands).number, 0U);
}

TEST_F(RolloutMachineTest, SubmittingWithoutASolutionUsesUpATurn) {
  make();
  admit();
  say(call_text("submit"));
  const auto commands = answer("error: there is no solution yet");
  EXPECT_THAT(decode_bytes(only<GenerateCall>(commands).new_tokens), HasSubstr("no solution yet"));
  EXPECT_EQ(machine_->phase(), RolloutPhase::generating);
}

TEST_F(RolloutMachineTest, TurnWithoutCallsEndsAndTheSolutionIsJudged) {
  make();
  admit();
  say(write_text());
  answer("wrote");
  const auto end = say("I am done.");
  EXPECT_EQ(only<Segment>(end).number, 1U);
  EXPECT_EQ(only<ToolCall>(end).name, "submit");
  EXPECT_EQ(machine_->phase(), RolloutPhase::freezing);
  EXPECT_FALSE(holds<Segment>(ask_judge(Request::final))) << "the end is sent already";
  const auto outcome = only<Closed>(judge(Verdict{})).outcome;
  EXPECT_EQ(outcome.reward, -1.0);
  EXPECT_EQ(outcome.verdict, VerdictClass::wrong);
  EXPECT_FALSE(outcome.truncated);
}

TEST_F(RolloutMachineTest, WithoutWrittenFilesThereIsNoSubmission) {
  make();
  admit();
  const auto outcome = only<Closed>(say("I give up.")).outcome;
  EXPECT_EQ(outcome.verdict, std::nullopt);
  EXPECT_EQ(outcome.reward, -1.0);
  EXPECT_TRUE(outcome.source_hash.empty());
}

TEST_F(RolloutMachineTest, TurnLimitJudgesTheSolution) {
  auto setup = toy_setup();
  setup.max_turns = 2;
  make(setup);
  admit();
  say(write_text());
  answer("wrote");
  say(call_text("read", "<parameter=path>\nSKILL.md\n</parameter>\n"));
  const auto end = answer("text");
  EXPECT_FALSE(holds<GenerateCall>(end));
  EXPECT_EQ(only<Segment>(end).action_mask.back(), 1) << "no result follows the last turn";
  ask_judge(Request::final);
  EXPECT_TRUE(only<Closed>(judge(passed_verdict())).outcome.truncated);
}

TEST_F(RolloutMachineTest, TokenLimitWithoutASubmissionIsPenalised) {
  auto setup = toy_setup();
  setup.max_tokens = 40;
  setup.overlong_penalty = 0.5;
  make(setup);
  EXPECT_EQ(only<GenerateCall>(admit()).credit, 19);
  const auto outcome =
      only<Closed>(send(std::vector<int32_t>(19, 'x'), FinishReason::length)).outcome;
  EXPECT_TRUE(outcome.truncated);
  EXPECT_EQ(outcome.reward, -1.5);
  EXPECT_EQ(outcome.verdict, std::nullopt);
}

TEST_F(RolloutMachineTest, ResultThatWouldOverflowEndsTheTrajectory) {
  auto setup = toy_setup();
  setup.max_tokens = 21 + static_cast<int64_t>(write_text().size()) + 1 + 50;
  make(setup);
  admit();
  say(write_text());
  const auto end = answer("this result and its frame take more than fifty tokens");
  EXPECT_FALSE(holds<GenerateCall>(end));
  EXPECT_EQ(only<ToolCall>(end).name, "submit");
}

TEST_F(RolloutMachineTest, CutTurnGetsItsEndToken) {
  auto setup = toy_setup();
  setup.max_turn_tokens = 5;
  make(setup);
  admit();
  const auto call = only<GenerateCall>(send({'a', 'b', 'c', 'd', 'e'}, FinishReason::length));
  EXPECT_THAT(decode_bytes(call.new_tokens), StartsWith("<|im_end|>\n<|im_start|>user"));
  EXPECT_THAT(decode_bytes(call.new_tokens), HasSubstr("error: the turn was cut after 5 tokens"));
}

TEST_F(RolloutMachineTest, LongResultsAreCutToTheTokenBudget) {
  auto setup = toy_setup();
  setup.result_tokens = 60;
  make(setup);
  admit();
  say(write_text());
  const auto text = decode_bytes(only<GenerateCall>(answer(std::string(500, 'x'))).new_tokens);
  EXPECT_THAT(text, HasSubstr("bytes left out"));
  EXPECT_LE(text.size(), 60U + policy::tool_responses(std::vector<std::string>{""}).text().size());
}

TEST_F(RolloutMachineTest, ResultsContainNoStopToken) {
  make();
  admit();
  say(write_text());
  const auto call = only<GenerateCall>(answer("</tool_response>" + std::string(stop_text) + "x"));
  // One ends the message with the result.
  EXPECT_EQ(std::ranges::count(call.new_tokens, stop_token), 1);
}

TEST_F(RolloutMachineTest, PromptWithoutRoomIsDropped) {
  auto setup = toy_setup();
  setup.max_tokens = 21;
  make(setup);
  EXPECT_EQ(only<Dropped>(admit()).reason, DropReason::too_long);
}

TEST_F(RolloutMachineTest, NothingSampledIsDropped) {
  auto setup = toy_setup();
  setup.max_turns = 0;
  make(setup);
  EXPECT_EQ(only<Dropped>(admit()).reason, DropReason::no_action_tokens);
}

TEST_F(RolloutMachineTest, InfrastructureFailureIsRetriedThenDropped) {
  make();
  admit();
  say(write_text());
  answer("wrote");
  say(call_text("submit"));
  ask_judge(Request::final);
  for (int i = 0; i < 2; ++i) {
    const auto again = judge(InfraFailure{InfraKind::noise, "unstable"});
    EXPECT_EQ(only<EvaluateCall>(again).request.submission.files.at("kernel.cpp"), "int a;");
  }
  const auto dropped = only<Dropped>(judge(InfraFailure{InfraKind::noise, "unstable"}));
  EXPECT_EQ(dropped.reason, DropReason::infrastructure);
  EXPECT_THAT(dropped.detail, HasSubstr("infra_noise: unstable"));
}

TEST_F(RolloutMachineTest, RefusedTaskIsNotRetried) {
  make();
  admit();
  say(write_text());
  answer("wrote");
  say(call_text("submit"));
  ask_judge(Request::final);
  EXPECT_TRUE(holds<Dropped>(judge(InfraFailure{InfraKind::task_refused, "no Model"})));
}

TEST_F(RolloutMachineTest, FailuresAreCountedPerStep) {
  auto setup = toy_setup();
  setup.infra_retries = 1;
  make(setup);
  admit();
  EXPECT_TRUE(holds<GenerateCall>(fail_now()));
  say(write_text());
  EXPECT_TRUE(holds<ToolCall>(fail_now()));
  answer("wrote");
  EXPECT_TRUE(holds<GenerateCall>(fail_now()));
  EXPECT_TRUE(holds<Dropped>(fail_now()));
}

TEST_F(RolloutMachineTest, DeadGeneratorIsReplacedWithTheWholePrefix) {
  make();
  admit();
  const std::string text = write_text();
  send(encode_bytes(text.substr(0, 20)), FinishReason::none);
  const auto call = only<GenerateCall>(fail_now());
  EXPECT_TRUE(call.whole);
  EXPECT_EQ(decode_bytes(call.new_tokens), "<|im_start|>user\ntask" + text.substr(0, 20));
  EXPECT_EQ(call.credit, 980);
  EXPECT_EQ(only<ToolCall>(say(text.substr(20))).arguments.at("content"), "int a;");
  EXPECT_EQ(machine_->transcript().sampled(), text.size() + 1);
}

TEST_F(RolloutMachineTest, FullSessionCutsTheTurn) {
  make();
  admit();
  const auto call = only<GenerateCall>(send({'a', 'b'}, FinishReason::context));
  EXPECT_THAT(decode_bytes(call.new_tokens), testing::HasSubstr("the turn was cut after 2 tokens"));
}

TEST_F(RolloutMachineTest, GeneratorDeathAfterTheLastTokenEndsTheTurn) {
  make();
  admit();
  send(encode_bytes(write_text() + std::string(stop_text)), FinishReason::none);
  EXPECT_EQ(only<ToolCall>(fail_now()).name, "write");
}

TEST_F(RolloutMachineTest, GeneratorWithoutRoomGetsTheSameRequestAgain) {
  make();
  const auto first = only<GenerateCall>(admit());
  const auto again = only<GenerateCall>(machine_->repeat());
  EXPECT_EQ(again.new_tokens, first.new_tokens);
  EXPECT_TRUE(again.whole);
  say(write_text());
  const auto next = only<GenerateCall>(answer("wrote"));
  EXPECT_EQ(only<GenerateCall>(machine_->repeat()).new_tokens, next.new_tokens);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(holds<Dropped>(machine_->repeat()));
}

TEST_F(RolloutMachineTest, AnotherGeneratorGetsTheWholePrefix) {
  make();
  const auto first = only<GenerateCall>(admit());
  say(write_text());
  const auto next = only<GenerateCall>(answer("wrote"));
  EXPECT_FALSE(next.whole);
  machine_->session_lost();
  const auto elsewhere = only<GenerateCall>(machine_->repeat());
  EXPECT_TRUE(elsewhere.whole);
  EXPECT_EQ(elsewhere.new_tokens, machine_->transcript().tokens());
  EXPECT_GT(elsewhere.new_tokens.size(), first.new_tokens.size());
}

TEST_F(RolloutMachineTest, StaleAnswersAreIgnored) {
  make();
  admit();
  const uint32_t old = machine_->request();
  say(write_text());
  EXPECT_TRUE(machine_->tokens({7, old, {'x'}, {0}, {{}}, FinishReason::stop_token}).empty());
  EXPECT_TRUE(machine_->failed(old, {}).empty());
  EXPECT_TRUE(machine_->tool_answered({7, old, "late"}).empty());
  EXPECT_TRUE(machine_->judged(machine_->request(), passed_verdict()).empty());
  answer("wrote");
  EXPECT_EQ(machine_->phase(), RolloutPhase::generating);
  EXPECT_TRUE(machine_->tool_answered({7, machine_->request(), "late"}).empty());
}

TEST_F(RolloutMachineTest, ChunkThatBreaksTheProtocolThrows) {
  make();
  admit();
  EXPECT_THROW(send(std::vector<int32_t>(1001, 'x'), FinishReason::none), std::invalid_argument);
  EXPECT_THROW(send({'x'}, FinishReason::stop_token), std::invalid_argument);
  EXPECT_THROW(machine_->tokens({7, machine_->request(), {'x'}, {}, {}, FinishReason::none}),
               std::invalid_argument);
}

}  // namespace
}  // namespace warpsmith::actors
