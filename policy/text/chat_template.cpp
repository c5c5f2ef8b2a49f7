// SPDX-License-Identifier: Apache-2.0
#include "policy/text/chat_template.hpp"

namespace warpsmith::policy {
namespace {

constexpr std::string_view thought_begin = "<think>";
constexpr std::string_view thought_end = "</think>";

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string_view strip(std::string_view text, std::string_view unwanted, bool left, bool right) {
  while (left && !text.empty() && contains(unwanted, text.substr(0, 1))) text.remove_prefix(1);
  while (right && !text.empty() && contains(unwanted, text.substr(text.size() - 1))) {
    text.remove_suffix(1);
  }
  return text;
}

/// A system message that the source spells out between `<|im_start|>system`, a line break (as such
/// or escaped) and `<|im_end|>`. A quote or brace in between means that it is put together.
std::string find_default_system(std::string_view jinja) {
  constexpr std::string_view opening = "<|im_start|>system";
  for (size_t at = jinja.find(opening); at != std::string_view::npos;
       at = jinja.find(opening, at + 1)) {
    std::string_view rest = jinja.substr(at + opening.size());
    if (rest.starts_with("\\n")) {
      rest.remove_prefix(2);
    } else if (rest.starts_with('\n')) {
      rest.remove_prefix(1);
    } else {
      continue;
    }
    const size_t end = rest.find("<|im_end|>");
    if (end == std::string_view::npos) continue;
    const std::string_view text = rest.substr(0, end);
    if (text.find_first_of("'\"{}\\") == std::string_view::npos) return std::string(text);
  }
  return {};
}

struct Thought {
  std::string_view reasoning, answer;
};

Thought split_thought(std::string_view content) {
  const size_t last = content.rfind(thought_end);
  if (last == std::string_view::npos) return {{}, content};
  std::string_view before = content.substr(0, content.find(thought_end));
  before = strip(before, "\n", false, true);
  const size_t begin = before.rfind(thought_begin);
  if (begin != std::string_view::npos) before.remove_prefix(begin + thought_begin.size());
  return {strip(before, "\n", true, true),
          strip(content.substr(last + thought_end.size()), "\n", true, false)};
}

/// Index of the last user message that is not a disguised tool response.
size_t last_question(std::span<const ChatMessage> messages) {
  for (size_t i = messages.size(); i-- > 0;) {
    const ChatMessage& m = messages[i];
    const bool disguised =
        m.content.starts_with("<tool_response>") && m.content.ends_with("</tool_response>");
    if (m.role == "user" && !disguised) return i;
  }
  return messages.empty() ? 0 : messages.size() - 1;
}

class ChatMl {
 public:
  ChatMl(const ChatTemplate& chat, std::span<const ChatMessage> messages)
      : chat_(chat), messages_(messages), question_(last_question(messages)) {}

  std::string render(const ChatOptions& options) {
    const bool has_system = !messages_.empty() && messages_[0].role == "system";
    if (!has_system && !chat_.default_system.empty()) turn("system", chat_.default_system);
    for (size_t i = 0; i < messages_.size(); ++i) message(i);
    if (!options.generation_prompt) return std::move(out_);
    out_ += "<|im_start|>assistant\n";
    if (chat_.strips_thoughts && !options.enable_thinking) out_ += "<think>\n\n</think>\n\n";
    return std::move(out_);
  }

 private:
  void turn(std::string_view role, std::string_view content) {
    out_.append("<|im_start|>").append(role).append("\n").append(content).append("<|im_end|>\n");
  }
  bool is_tool(size_t i) const { return i < messages_.size() && messages_[i].role == "tool"; }

  void message(size_t i) {
    const ChatMessage& m = messages_[i];
    if (m.role == "tool" && chat_.tool_responses) return tool(i);
    if (m.role == "assistant" && chat_.strips_thoughts) return assistant(i);
    turn(m.role, m.content);
  }
  void tool(size_t i) {
    if (i == 0 || !is_tool(i - 1)) out_ += "<|im_start|>user";
    out_.append("\n<tool_response>\n").append(messages_[i].content).append("\n</tool_response>");
    if (!is_tool(i + 1)) out_ += "<|im_end|>\n";
  }
  void assistant(size_t i) {
    const Thought thought = split_thought(messages_[i].content);
    const bool last = i + 1 == messages_.size();
    const bool shown = i > question_ && (last || !thought.reasoning.empty());
    if (!shown) return turn("assistant", thought.answer);
    std::string content("<think>\n");
    content.append(thought.reasoning).append("\n</think>\n\n");
    content.append(strip(thought.answer, "\n", true, false));
    turn("assistant", content);
  }

  const ChatTemplate& chat_;
  std::span<const ChatMessage> messages_;
  size_t question_;
  std::string out_;
};

std::string llama_turn(std::string_view role, std::string_view content) {
  std::string turn("<|start_header_id|>");
  turn.append(role).append("<|end_header_id|>\n\n");
  turn.append(strip(content, " \t\r\n\v\f", true, true)).append("<|eot_id|>");
  return turn;
}

/// Llama 3.1 always has a system turn; its dates come before the message.
std::string llama_system(const ChatOptions& options, std::string_view content) {
  std::string turn("<|start_header_id|>system<|end_header_id|>\n\n");
  turn.append("Cutting Knowledge Date: December 2023\nToday Date: ").append(options.today);
  turn.append("\n\n").append(strip(content, " \t\r\n\v\f", true, true)).append("<|eot_id|>");
  return turn;
}

std::string render_llama3(const ChatTemplate& chat, std::span<const ChatMessage> messages,
                          const ChatOptions& options) {
  std::string out = chat.bos;
  const bool has_system = !messages.empty() && messages[0].role == "system";
  if (chat.announces_dates) {
    out += llama_system(options, has_system ? messages[0].content : std::string_view());
    if (has_system) messages = messages.subspan(1);
  }
  for (const ChatMessage& m : messages) {
    const bool renamed = m.role == "tool" && chat.announces_dates;  // "ipython" to Llama 3.1
    out += llama_turn(renamed ? "ipython" : m.role, m.content);
  }
  if (options.generation_prompt) out += "<|start_header_id|>assistant<|end_header_id|>\n\n";
  return out;
}

}  // namespace

Result<ChatTemplate> recognize_chat_template(std::string_view jinja, std::string_view bos) {
  ChatTemplate chat;
  if (contains(jinja, "<|start_header_id|>")) {
    chat.format = ChatFormat::llama3;
    chat.bos = bos;
    chat.announces_dates = contains(jinja, "Cutting Knowledge Date");
    return chat;
  }
  if (!contains(jinja, "<|im_start|>")) {
    return fail(ErrorCode::unsupported,
                "chat template: expected a ChatML or Llama 3 template, found neither "
                "<|im_start|> nor <|start_header_id|> in it");
  }
  chat.default_system = find_default_system(jinja);
  chat.tool_responses = contains(jinja, "<tool_response>");
  chat.strips_thoughts = contains(jinja, "reasoning_content");
  return chat;
}

std::string render_chat(const ChatTemplate& chat, std::span<const ChatMessage> messages,
                        const ChatOptions& options) {
  if (chat.format == ChatFormat::llama3) return render_llama3(chat, messages, options);
  return ChatMl(chat, messages).render(options);
}

}  // namespace warpsmith::policy
