// SPDX-License-Identifier: Apache-2.0
// A rollout machine over a toy vocabulary: one token per byte, and one that ends a turn.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "actors/rollout/rollout_machine.hpp"

namespace warpsmith::actors {

inline constexpr int32_t stop_token = 256;
inline constexpr std::string_view stop_text = "<|im_end|>";

inline std::vector<int32_t> encode_bytes(std::string_view text) {
  std::vector<int32_t> tokens;
  while (!text.empty()) {
    const bool stops = text.starts_with(stop_text);
    tokens.push_back(stops ? stop_token : static_cast<unsigned char>(text[0]));
    text.remove_prefix(stops ? stop_text.size() : 1);
  }
  return tokens;
}

/// Untrusted text contains no stop token.
inline std::vector<int32_t> encode_marked(const policy::MarkedText& text) {
  std::vector<int32_t> tokens;
  for (const policy::TextRun& run : text.runs()) {
    const auto bytes = [](char c) { return static_cast<int32_t>(static_cast<unsigned char>(c)); };
    if (run.untrusted) {
      std::ranges::transform(run.text, std::back_inserter(tokens), bytes);
    } else {
      std::ranges::copy(encode_bytes(run.text), std::back_inserter(tokens));
    }
  }
  return tokens;
}

inline std::string decode_bytes(std::span<const int32_t> tokens) {
  std::string text;
  for (const int32_t token : tokens) {
    text += token == stop_token ? std::string(stop_text) : std::string(1, static_cast<char>(token));
  }
  return text;
}

inline RolloutSetup toy_setup() {
  RolloutSetup setup;
  setup.encode = encode_marked;
  setup.decode = decode_bytes;
  setup.stop_tokens = {stop_token};
  setup.max_turns = 4;
  setup.max_tokens = 4000;
  setup.max_turn_tokens = 1000;
  setup.result_tokens = 200;
  return setup;
}

inline std::string call_text(const std::string& name, const std::string& parameters = "") {
  return "<tool_call>\n<function=" + name + ">\n" + parameters + "</function>\n</tool_call>";
}

inline std::string write_text(const std::string& content = "int a;") {
  return call_text("write",
                   "<parameter=path>\nsolution/kernel.cpp\n</parameter>\n"
                   "<parameter=content>\n" +
                       content + "\n</parameter>\n");
}

/// The only command of type T; a failed expectation and a default value if there is not one.
template <class T>
T only(const RolloutCommands& commands) {
  const T* found = nullptr;
  for (const RolloutCommand& command : commands) {
    if (const auto* one = std::get_if<T>(&command)) {
      EXPECT_EQ(found, nullptr) << "more than one";
      found = one;
    }
  }
  EXPECT_NE(found, nullptr) << "none";
  return found ? *found : T{};
}

template <class T>
bool holds(const RolloutCommands& commands) {
  for (const RolloutCommand& command : commands) {
    if (std::holds_alternative<T>(command)) return true;
  }
  return false;
}

inline Verdict passed_verdict(double speedup = 2.0) {
  Verdict verdict;
  verdict.outcome = VerdictClass::passed;
  verdict.feedback = "passed: fine";
  ShapeResult shape;
  shape.speedup_eager = speedup;
  shape.speedup_compile = speedup;
  shape.speedup_eager_interval = Interval{speedup - 0.01, speedup + 0.01};
  shape.speedup_compile_interval = shape.speedup_eager_interval;
  verdict.shapes.push_back(shape);
  return verdict;
}

/// Plays the other actors.
class RolloutFixture : public testing::Test {
 protected:
  void make(RolloutSetup setup = toy_setup(),
            policy::MarkedText prompt = policy::MarkedText("<|im_start|>user\ntask")) {
    PreparedTask task;
    task.task.id = "softmax";
    machine_ = std::make_unique<RolloutMachine>(std::make_shared<RolloutSetup>(std::move(setup)),
                                                task, std::move(prompt));
  }
  RolloutCommands admit(std::vector<Segment> segments = {}, BestSubmission best = {}) {
    const bool resumed = !segments.empty();
    return machine_->admitted(
        {true, 7, machine_->task().task, std::move(segments), resumed, {}, std::move(best)});
  }
  RolloutCommands send(const std::vector<int32_t>& tokens, FinishReason finish) {
    TokenChunk chunk;
    chunk.session = 7;
    chunk.turn = machine_->request();
    chunk.tokens = tokens;
    chunk.log_probs.assign(tokens.size(), -0.5F);
    chunk.versions.assign(tokens.size(), PolicyVersion{1, 3});
    chunk.finish = finish;
    return machine_->tokens(chunk);
  }
  /// A whole turn of the model.
  RolloutCommands say(const std::string& text) {
    return send(encode_bytes(text + std::string(stop_text)), FinishReason::stop_token);
  }
  RolloutCommands answer(const std::string& text) {
    return machine_->tool_answered({7, machine_->request(), text});
  }
  RolloutCommands ask_judge(Request request, const std::string& kernel = "int a;") {
    ToolAnswer answer{7, machine_->request(), {}, true, {}, request};
    answer.submission.files["kernel.cpp"] = kernel;
    return machine_->tool_answered(answer);
  }
  RolloutCommands judge(const Judgement& judgement) {
    return machine_->judged(machine_->request(), judgement);
  }
  RolloutCommands fail_now() {
    return machine_->failed(machine_->request(), {InfraKind::sandbox_lost, "gone"});
  }

  std::unique_ptr<RolloutMachine> machine_;
};

}  // namespace warpsmith::actors
