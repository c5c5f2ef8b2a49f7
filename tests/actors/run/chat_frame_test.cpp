// SPDX-License-Identifier: Apache-2.0
// agent.chat_template = "auto" against templates of the kinds that published models have.
#include "actors/run/model_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "policy/format/tokenizer_json.hpp"
#include "runtime/environment.hpp"
#include "tests/support/json_file.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::policy {

void PrintTo(const ChatFrame& frame, std::ostream* out) {
  const MarkedText start = chat_prompt("S", "U", frame);
  const std::vector<std::string> results{"R"};
  *out << nlohmann::json{start.text(), chat_prompt("", "U", frame).text(), frame.end,
                         tool_responses(results, frame).text()};
}

}  // namespace warpsmith::policy

namespace warpsmith::actors {
namespace {

using nlohmann::json;
using policy::ChatFrame;
using testing::HasSubstr;

/// The turns of any role look alike; a system message is added where there is none.
constexpr const char* default_system = R"({% for message in messages %}
{% if loop.first and message.role != 'system' %}
{{ '<|im_start|>system\nYou help.<|im_end|>\n' }}{% endif %}
{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}
{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %})";

/// A first token, content without white space around it, a date, results as JSON.
constexpr const char* headers = R"({{- bos_token }}
{%- set date = strftime_now("%d") if strftime_now is defined else "26" %}
{%- if messages[0]['role'] == 'system' %}
  {%- set system = messages[0]['content'] | trim %}
  {%- set messages = messages[1:] %}
{%- else %}{%- set system = "" %}{%- endif %}
{{- "<|head|>system<|body|>\n\nDate: " + date + "\n\n" + system + "<|eot_id|>" }}
{%- for message in messages %}
  {%- if message.role == "tool" %}
{{- "<|head|>ipython<|body|>\n\n" + (message.content | tojson) + "<|eot_id|>" }}
  {%- else %}
{{- "<|head|>" + message.role + "<|body|>\n\n" + message.content | trim + "<|eot_id|>" }}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- "<|head|>assistant<|body|>\n\n" }}{%- endif %})";

/// Roles are single tokens, only turns have an end, and each turn begins with a thought.
constexpr const char* thinking = R"({{ bos_token }}
{%- for message in messages %}
{%- if message.role == 'system' %}{{ message.content }}{%- endif %}
{%- if message.role == 'user' %}{{ '<|user|>' + message.content }}{%- endif %}
{%- if message.role == 'assistant' %}{{ '<|assistant|>' + message.content + '<|eot_id|>' }}{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|><think>\n' }}{%- endif %})";

/// The template contains the tags of results, and earlier turns lose their thoughts.
constexpr const char* tagged = R"({%- for message in messages %}
{%- if message.role == 'tool' %}
{{- '<|im_start|>user\n<tool_response>\n' + message.content + '\n</tool_response><|im_end|>\n' }}
{%- else %}
{{- '<|im_start|>' + message.role + '\n' + message.content.split('</think>')[-1] + '<|im_end|>\n' }}
{%- endif %}{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %})";

class ChatFrameTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(python_interpreter())) GTEST_SKIP() << "no WARPSMITH_PYTHON";
    json tokenizer = test::json_file("tests/golden/tokenizers/qwen/tokenizer.json");
    json token = tokenizer["added_tokens"][0];
    token["content"] = "<|eot_id|>";
    token["id"] = 100'000;
    tokenizer["added_tokens"].push_back(token);
    std::ofstream{folder_.path() / "tokenizer.json"} << tokenizer;
  }
  Result<ChatFrame> frame_of(const std::string& name) const {
    const auto tokenizer = policy::read_tokenizer(folder_.path());
    if (!tokenizer) return tl::unexpected(tokenizer.error());
    AgentConfig agent;
    agent.chat_template = name;
    return chat_frame(agent, *tokenizer, folder_.path());
  }
  /// The frame of a folder with this template in tokenizer_config.json.
  Result<ChatFrame> frame_by(const std::string& chat_template) const {
    const json config{{"chat_template", chat_template},
                      {"bos_token", {{"content", "<|endoftext|>"}}},
                      {"pad_token", nullptr}};
    std::ofstream{folder_.path() / "tokenizer_config.json"} << config;
    return frame_of("auto");
  }
  void expect_refused(const Result<ChatFrame>& frame, const std::string& words) const {
    ASSERT_FALSE(frame);
    EXPECT_EQ(frame.error().code, ErrorCode::invalid_config);
    EXPECT_THAT(frame.error().message, HasSubstr(folder_.path().string()));
    EXPECT_THAT(frame.error().message, HasSubstr(words));
    EXPECT_THAT(frame.error().message, HasSubstr("set agent.chat_template to \"chatml\""));
  }

  test_support::TemporaryFolder folder_;
};

TEST_F(ChatFrameTest, TheFoldersOwnTemplateIsFollowed) {
  ChatFrame expected;
  expected.without_system = "<|im_start|>system\nYou help.<|im_end|>\n";
  expected.results.before = "<|im_start|>tool\n";
  const auto frame = frame_by(default_system);
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_EQ(*frame, expected);
}

TEST_F(ChatFrameTest, FirstTokensDatesAndResultsAsJsonAreFollowed) {
  const auto header = [](const std::string& role) { return "<|head|>" + role + "<|body|>\n\n"; };
  const std::string first = "<|endoftext|>" + header("system") + "Date: 26\n\n";
  ChatFrame expected;
  expected.system = {first, "<|eot_id|>"};
  expected.without_system = first + "<|eot_id|>";
  expected.user = {header("user"), "<|eot_id|>"};
  expected.results = {header("ipython"), "<|eot_id|>"};
  expected.start = header("assistant");
  expected.end = "<|eot_id|>";
  expected.after = "";
  const auto frame = frame_by(headers);
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_EQ(*frame, expected);
}

TEST_F(ChatFrameTest, TurnsMayBeginWithAThought) {
  ChatFrame expected;
  expected.system = {"<|endoftext|>", ""};
  expected.without_system = "<|endoftext|>";
  expected.user = expected.results = {"<|user|>", ""};
  expected.start = "<|assistant|><think>\n";
  expected.end = "<|eot_id|>";
  expected.after = "";
  const auto frame = frame_by(thinking);
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_EQ(*frame, expected);
}

TEST_F(ChatFrameTest, TagsOfResultsAreNotWrittenTwice) {
  const auto frame = frame_by(tagged);
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_EQ(*frame, ChatFrame{});
}

TEST_F(ChatFrameTest, ATemplateInASeparateFileTakesPrecedence) {
  std::ofstream{folder_.path() / "chat_template.jinja"} << thinking;
  const auto frame = frame_by(tagged);
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_EQ(frame->end, "<|eot_id|>");
}

TEST_F(ChatFrameTest, FoldersWithoutATemplateAreRefused) {
  expect_refused(frame_of("auto"), "there is no chat template");
}

TEST_F(ChatFrameTest, UnusableTemplatesAreRefusedWithTheReason) {
  expect_refused(frame_by("{% for m in messages %}{{ m.content }}{% endfor %}"),
                 "no special token of tokenizer.json");
  expect_refused(frame_by("{{ raise_exception('only users speak here') }}"),
                 "only users speak here");
  expect_refused(frame_by("{% if %}"), "TemplateSyntaxError");
  expect_refused(frame_by("{{ messages[-1].content }}"), "each message once");
  // The system message moves to the last message of the user.
  expect_refused(frame_by("{% for m in messages %}{% if m.role != 'system' %}"
                          "{% if loop.last and messages[0].role == 'system' %}"
                          "{{ messages[0].content }}{% endif %}"
                          "{{ m.content + '<|eot_id|>' }}{% endif %}{% endfor %}"),
                 "cannot be used");
}

TEST_F(ChatFrameTest, ANamedTemplateNeedsItsEndToken) {
  EXPECT_TRUE(frame_of("chatml"));
  EXPECT_EQ(*frame_of("llama3"), policy::llama3_frame());
  json tokenizer = test::json_file("tests/golden/tokenizers/qwen/tokenizer.json");
  std::ofstream{folder_.path() / "tokenizer.json"} << tokenizer;
  expect_refused(frame_of("llama3"), "no token <|eot_id|>");
}

TEST_F(ChatFrameTest, TheEndOfATurnIsAStopToken) {
  const auto tokenizer = policy::read_tokenizer(folder_.path());
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  policy::ModelConfig model;
  model.eos_tokens = {5};
  end_turns_by({}, *tokenizer, model);
  end_turns_by({}, *tokenizer, model);
  EXPECT_EQ(model.eos_tokens, (std::vector<int64_t>{5, *tokenizer->id_of("<|im_end|>")}));
}

}  // namespace
}  // namespace warpsmith::actors
