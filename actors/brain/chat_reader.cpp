// SPDX-License-Identifier: Apache-2.0
#include "actors/brain/chat_reader.hpp"

#include <algorithm>
#include <utility>

namespace warpsmith::actors {
namespace {

using policy::ChatMessage;

// These bytes mark a control token's text. Decoded text is valid UTF-8, which contains neither
// byte.
constexpr char mark_open = '\xFE';
constexpr char mark_close = '\xFF';

constexpr std::string_view open_result = "<tool_response>\n";
constexpr std::string_view close_result = "\n</tool_response>";
constexpr std::string_view between_results = "\n</tool_response>\n<tool_response>\n";

bool has_mark(std::string_view text) {
  return text.find(mark_open) != std::string_view::npos;
}

std::string unmarked(std::string_view text) {
  std::string plain{text};
  std::erase_if(plain, [](char c) { return c == mark_open || c == mark_close; });
  return plain;
}

/// The rest of a marked text.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}
  bool at_end() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }

  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  Result<std::string_view> until(std::string_view end, const char* what) {
    const size_t at = rest_.find(end);
    if (at == std::string_view::npos) {
      return fail(ErrorCode::parse_failed, std::string{"trajectory: expected the end of "} + what +
                                               " (\"" + unmarked(end) +
                                               "\"), got the end of the tokens");
    }
    const std::string_view text = rest_.substr(0, at);
    rest_.remove_prefix(at + end.size());
    return text;
  }

 private:
  std::string_view rest_;
};

tl::unexpected<Error> expected(const char* what, const Cursor& cursor) {
  return fail(ErrorCode::parse_failed, std::string{"trajectory: expected "} + what + ", got \"" +
                                           unmarked(cursor.rest().substr(0, 40)) + '"');
}

/// The results in one message. Their control tokens are escaped, so none contains the tags that
/// separate them.
void add_results(std::string_view text, std::vector<ChatMessage>& messages) {
  if (text.starts_with(open_result)) text.remove_prefix(open_result.size());
  if (text.ends_with(close_result)) text.remove_suffix(close_result.size());
  while (true) {
    const size_t at = text.find(between_results);
    messages.push_back({"tool", unmarked(text.substr(0, at))});
    if (at == std::string_view::npos) return;
    text.remove_prefix(at + between_results.size());
  }
}

}  // namespace

std::string ChatReader::marked(std::span<const int32_t> tokens) const {
  std::string text;
  size_t plain_from = 0;
  for (size_t i = 0; i <= tokens.size(); ++i) {
    if (i < tokens.size() && !control_.contains(tokens[i])) continue;
    text += tokenizer_->decode(tokens.subspan(plain_from, i - plain_from));
    plain_from = i + 1;
    if (i == tokens.size()) break;
    ((text += mark_open) += tokenizer_->bytes_of(tokens[i])) += mark_close;
  }
  return text;
}

std::string ChatReader::marked(const std::string& text) const {
  return marked(tokenizer_->encode(text));
}

Result<ChatReader> ChatReader::make(std::shared_ptr<const policy::Tokenizer> tokenizer,
                                    const policy::ChatFrame& frame,
                                    std::span<const int32_t> stop_tokens) {
  ChatReader reader;
  reader.tokenizer_ = std::move(tokenizer);
  reader.control_.insert(stop_tokens.begin(), stop_tokens.end());
  for (int32_t id = 0; id < reader.tokenizer_->vocabulary_size(); ++id) {
    if (reader.tokenizer_->is_special(id)) reader.control_.insert(id);
  }
  const auto mark = [&reader](const std::string& text) { return reader.marked(text); };
  const auto around = [&](const policy::MessageFrame& a) {
    return policy::MessageFrame{mark(a.before), mark(a.after)};
  };
  reader.frame_ = {around(frame.system),  mark(frame.without_system), around(frame.user),
                   around(frame.results), mark(frame.start),          mark(frame.end),
                   mark(frame.after)};
  for (const int32_t stop : stop_tokens) {
    const std::vector<int32_t> one{stop};
    reader.ends_.push_back(reader.marked(one));
  }
  const policy::ChatFrame& f = reader.frame_;
  if (has_mark(f.user.after + f.start) && has_mark(f.results.after + f.start) && has_mark(f.end)) {
    return reader;
  }
  return fail(ErrorCode::unsupported,
              "the chat template ends a message by ordinary text, which a task could contain; "
              "a brain needs a model folder whose template uses special tokens, or "
              "agent.chat_template = \"chatml\"");
}

Result<std::vector<ChatMessage>> ChatReader::read(std::span<const int32_t> tokens) const {
  const std::string text = marked(tokens);
  Cursor cursor{text};
  std::vector<ChatMessage> messages;
  if (!frame_.system.before.empty() && cursor.take(frame_.system.before)) {
    TRY(const auto system, cursor.until(frame_.system.after, "the system message"));
    messages.push_back({"system", unmarked(system)});
  } else if (!cursor.take(frame_.without_system)) {
    return expected("the beginning of a conversation", cursor);
  }
  if (!cursor.take(frame_.user.before)) return expected("the user's message", cursor);
  TRY(const auto user, cursor.until(frame_.user.after + frame_.start, "the user's message"));
  messages.push_back({"user", unmarked(user)});
  while (!cursor.at_end()) {
    const auto end_of = [&](std::string_view rest) {
      std::pair<size_t, size_t> first{std::string_view::npos, 0};
      for (const std::string& end : ends_) first = std::min(first, {rest.find(end), end.size()});
      return first;
    };
    const auto [at, size] = end_of(cursor.rest());
    if (at == std::string_view::npos) return expected("the end of a turn", cursor);
    const std::string end{cursor.rest().substr(at, size)};
    messages.push_back({"assistant", unmarked(*cursor.until(end, "a turn"))});
    if (!cursor.take(frame_.after) || !cursor.take(frame_.results.before)) {
      return expected("the results of a turn", cursor);
    }
    TRY(const auto results, cursor.until(frame_.results.after + frame_.start, "the results"));
    add_results(results, messages);
  }
  return messages;
}

}  // namespace warpsmith::actors
