// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/parity_prompts.hpp"

#include "policy/format/tokenizer_json.hpp"
#include "policy/text/chat_template.hpp"
#include "policy/text/conversation_file.hpp"
#include "runtime/random_stream.hpp"

namespace warpsmith::commands {
namespace {

constexpr size_t random_tokens = 32;

}  // namespace

ParityPrompts random_parity_prompts(size_t count, uint64_t seed, int64_t vocab) {
  ParityPrompts made;
  made.prompts.resize(count);
  for (size_t i = 0; i < count; ++i) {
    RandomStream random(seed, "bench parity", i);
    for (size_t t = 0; t < random_tokens; ++t) {
      made.prompts[i].push_back(static_cast<int32_t>(random.below(static_cast<uint64_t>(vocab))));
    }
  }
  return made;
}

Result<ParityPrompts> prompts_of_demonstrations(const std::filesystem::path& demonstrations,
                                                const std::filesystem::path& model) {
  const auto tokenizer = policy::read_tokenizer(model);
  if (!tokenizer) return tl::unexpected(tokenizer.error());
  const auto frame = policy::frame_named("chatml", *tokenizer);
  if (!frame) return tl::unexpected(frame.error());
  const auto talks = policy::read_demonstrations(demonstrations);
  if (!talks) return tl::unexpected(talks.error());
  ParityPrompts made;
  if (const auto end = tokenizer->id_of(frame->end)) made.stop_tokens.push_back(*end);
  made.prompts.reserve(talks->size());
  for (const policy::Demonstration& talk : *talks) {
    const auto pieces = policy::chat_pieces(talk.messages, *frame);
    if (!pieces.empty()) made.prompts.push_back(tokenizer->encode(pieces.front().text));
  }
  if (!made.prompts.empty()) return made;
  return fail(ErrorCode::invalid_argument, demonstrations.string() + ": no conversations");
}

}  // namespace warpsmith::commands
