// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/api_answer.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "policy/text/unicode.hpp"
#include "runtime/json_text.hpp"

namespace warpsmith::commands {
namespace {

using Json = nlohmann::ordered_json;

/// Identifies the choice of an answer that a part belongs to.
struct Part {
  const AnswerHead& head;
  const AnswerRules& rules;
  size_t choice = 0;
};

bool is_chat(const AnswerHead& head) {
  return head.endpoint == Endpoint::chat;
}

Json head_json(const AnswerHead& head, bool chunk) {
  const char* chat = chunk ? "chat.completion.chunk" : "chat.completion";
  return {{"id", head.id},
          {"object", is_chat(head) ? chat : "text_completion"},
          {"created", head.created},
          {"model", head.model}};
}

Json usage_json(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens}};
}

Json bytes_json(const std::string& bytes) {
  Json out = Json::array();
  for (const char c : bytes) out.push_back(static_cast<unsigned char>(c));
  return out;
}

Json chat_log_probs(const std::vector<TokenLogProb>& tokens) {
  Json content = Json::array();
  for (const TokenLogProb& one : tokens) {
    content.push_back({{"token", policy::to_valid_utf8(one.bytes)},
                       {"logprob", one.log_prob},
                       {"bytes", bytes_json(one.bytes)},
                       {"top_logprobs", Json::array()}});
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

Json completion_log_probs(const std::vector<TokenLogProb>& tokens) {
  Json out{{"tokens", Json::array()},
           {"token_logprobs", Json::array()},
           {"top_logprobs", nullptr},
           {"text_offset", Json::array()}};
  for (const TokenLogProb& one : tokens) {
    out["tokens"].push_back(policy::to_valid_utf8(one.bytes));
    out["token_logprobs"].push_back(one.log_prob);
    out["text_offset"].push_back(one.offset);
  }
  return out;
}

Json log_probs_json(const Part& part, const std::vector<TokenLogProb>& tokens) {
  if (!part.rules.log_probs) return nullptr;
  return is_chat(part.head) ? chat_log_probs(tokens) : completion_log_probs(tokens);
}

std::string call_id(const Part& part, size_t call) {
  const std::string& id = part.head.id;
  return fmt::format("call_{}_{}_{}", id.substr(id.find('-') + 1), part.choice, call);
}

/// `numbered`: as deltas of a stream, which name the call's index.
Json calls_json(const Part& part, const std::vector<ApiCall>& calls, bool numbered) {
  Json out = Json::array();
  for (size_t i = 0; i < calls.size(); ++i) {
    Json call = numbered ? Json{{"index", i}} : Json::object();
    call["id"] = call_id(part, i);
    call["type"] = "function";
    call["function"] = {{"name", calls[i].name}, {"arguments", calls[i].arguments}};
    out.push_back(std::move(call));
  }
  return out;
}

Json whole_choice(const Part& part, const ChoiceDelta& delta) {
  Json choice{{"index", part.choice}};
  if (is_chat(part.head)) {
    const bool silent = delta.text.empty() && !delta.calls.empty();
    Json message{{"role", "assistant"},
                 {"content", silent ? Json(nullptr) : Json(delta.text)},
                 {"refusal", nullptr}};
    if (!delta.calls.empty()) message["tool_calls"] = calls_json(part, delta.calls, false);
    choice["message"] = std::move(message);
  } else {
    choice["text"] = delta.text;
  }
  choice["logprobs"] = log_probs_json(part, delta.log_probs);
  choice["finish_reason"] = nullable<Json>(delta.finish);
  return choice;
}

/// A chunk with one choice; `content` is the delta of a chat, else the text.
std::string chunk(const Part& part, Json content, Json log_probs, Json finish) {
  Json out = head_json(part.head, true);
  Json choice{{"index", part.choice}};
  choice[is_chat(part.head) ? "delta" : "text"] = std::move(content);
  choice["logprobs"] = std::move(log_probs);
  choice["finish_reason"] = std::move(finish);
  out["choices"] = Json::array({std::move(choice)});
  if (part.rules.include_usage) out["usage"] = nullptr;
  return json_text(out);
}

}  // namespace

std::string answer_body(const AnswerHead& head, const AnswerRules& rules,
                        const std::vector<ChoiceDelta>& choices, const Usage& usage) {
  Json out = head_json(head, false);
  Json list = Json::array();
  for (size_t i = 0; i < choices.size(); ++i)
    list.push_back(whole_choice({head, rules, i}, choices[i]));
  out["choices"] = std::move(list);
  out["usage"] = usage_json(usage);
  return json_text(out);
}

std::string role_chunk(const AnswerHead& head, const AnswerRules& rules, size_t choice) {
  return chunk({head, rules, choice}, {{"role", "assistant"}, {"content", ""}}, nullptr, nullptr);
}

std::string delta_chunk(const AnswerHead& head, const AnswerRules& rules, size_t choice,
                        const ChoiceDelta& delta) {
  const Part part{head, rules, choice};
  Json log_probs = log_probs_json(part, delta.log_probs);
  if (!is_chat(head)) return chunk(part, delta.text, std::move(log_probs), nullptr);
  Json content = Json::object();
  if (!delta.text.empty() || delta.calls.empty()) content["content"] = delta.text;
  if (!delta.calls.empty()) content["tool_calls"] = calls_json(part, delta.calls, true);
  return chunk(part, std::move(content), std::move(log_probs), nullptr);
}

std::string end_chunk(const AnswerHead& head, const AnswerRules& rules, size_t choice,
                      const std::string& finish) {
  return chunk({head, rules, choice}, is_chat(head) ? Json::object() : Json(""), nullptr, finish);
}

std::string usage_chunk(const AnswerHead& head, const Usage& usage) {
  Json out = head_json(head, true);
  out["choices"] = Json::array();
  out["usage"] = usage_json(usage);
  return json_text(out);
}

std::string sse_event(const std::string& text) {
  return "data: " + text + "\n\n";
}

std::string model_body(const std::string& model, int64_t created) {
  return json_text(
      Json{{"id", model}, {"object", "model"}, {"created", created}, {"owned_by", "warpsmith"}});
}

std::string models_body(const std::string& model, int64_t created) {
  return R"({"object":"list","data":[)" + model_body(model, created) + "]}";
}

}  // namespace warpsmith::commands
