// SPDX-License-Identifier: Apache-2.0
#include "actors/composer/composing_worker.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <nlohmann/json.hpp>

#include "actors/base/script.hpp"
#include "runtime/environment.hpp"
#include "runtime/json_text.hpp"

namespace warpsmith::actors {
namespace {

constexpr int socket_in_child = 3;
constexpr int refused_status = 2;                       // of serve.py
constexpr int busy_status = 75;                         // the same; turns.py
constexpr std::chrono::seconds frame_within{10};        // the rest follows the first byte at once
constexpr std::chrono::milliseconds ends_within{5000};  // so that its exit status is known

bool is_readable(int fd) {
  pollfd waiting{fd, POLLIN, 0};
  return poll(&waiting, 1, 0) > 0;
}

ErrorCode meaning_of(const ChildExit& exit) {
  if (exit.exit_code == refused_status) return ErrorCode::unsupported;
  if (exit.exit_code == busy_status) return ErrorCode::capacity;
  return ErrorCode::process_failed;
}

Result<void> send(FrameSocket& socket, const std::string& text) {
  return socket.send({text.begin(), text.end()}, Deadline::after(frame_within));
}

using Json = nlohmann::json;

}  // namespace

Result<ComposingWorker> ComposingWorker::start(const ComposingWorkerSpec& spec) {
  TRY(auto ends, FrameSocket::pair());
  ChildSpec child;
  child.argv = {spec.python, "-B", (source_folder() / "synthesis/worker/serve.py").string()};
  child.descriptors = {{socket_in_child, ends.second.fd()}};
  child.cores = spec.cores;
  child.own_group = true;
  TRY(auto started, Child::start(child));
  ComposingWorker worker{std::move(started), std::move(ends.first)};
  TRY_VOID(send(worker.socket_, spec.settings));
  return worker;
}

Result<void> ComposingWorker::tell(const std::string& message) {
  if (send(socket_, message)) return {};
  return tl::unexpected(ended());
}

Result<std::optional<std::string>> ComposingWorker::answer() {
  if (!is_readable(socket_.fd())) {
    if (child_.alive()) return std::nullopt;
    return tl::unexpected(ended());
  }
  auto frame = socket_.receive(Deadline::after(frame_within));
  if (!frame) return tl::unexpected(ended());
  return std::string{frame->begin(), frame->end()};
}

Error ComposingWorker::ended() {
  const ChildExit exit = child_.wait(Deadline::after(ends_within));
  const std::string how = exit.signal != 0 ? fmt::format("signal {}", exit.signal)
                                           : fmt::format("exit status {}", exit.exit_code);
  return {meaning_of(exit), "the composing worker ended with " + how + ": " + last_line(exit.err)};
}

std::string number_message(uint64_t index) {
  return json_text(Json{{"index", index}});
}

std::string answer_message(const std::string& text) {
  return json_text(Json{{"answer", text}});
}

std::string failure_message(const std::string& why) {
  return json_text(Json{{"failed", why}});
}

std::optional<std::string> prompt_in(const std::string& message) {
  const Json object = Json::parse(message, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return std::nullopt;
  const auto prompt = object.find("ask");
  if (prompt == object.end() || !prompt->is_string()) return std::nullopt;
  return prompt->get<std::string>();
}

}  // namespace warpsmith::actors
