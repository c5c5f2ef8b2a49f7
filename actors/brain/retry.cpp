// SPDX-License-Identifier: Apache-2.0
#include "actors/brain/retry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace warpsmith::actors {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds first_wait{500};
constexpr milliseconds longest_wait{60'000};

ReplyAction refusal(bool any_taken) {
  return any_taken ? ReplyAction::fail_turn : ReplyAction::end_run;
}

ReplyAssessment of_fault(const HttpReply& reply, bool any_taken) {
  switch (reply.fault) {
    case HttpFault::untrusted:
      return {
          ReplyAction::end_run, "the server's certificate is not accepted: " + reply.detail, {}};
    case HttpFault::too_long:
      return {refusal(any_taken), "the answer is too long: " + reply.detail, {}};
    case HttpFault::unreachable:
      return {ReplyAction::retry, "not reachable: " + reply.detail, {}};
    case HttpFault::timed_out:
      return {ReplyAction::retry, "too slow: " + reply.detail, {}};
    default:
      return {ReplyAction::retry, "the connection was cut: " + reply.detail, {}};
  }
}

bool is_passing(int status) {
  return status == 408 || status == 409 || status == 425 || status == 429 || status >= 500;
}

/// What the user can do about a status that a retry would not change.
std::string remedy_of(int status, const Endpoint& endpoint) {
  if (status == 401 || status == 403) {
    return endpoint.key_env.empty()
               ? "; no key was sent: set brain.key_env to the variable that contains it"
               : "; check the key in the variable " + endpoint.key_env + " (brain.key_env)";
  }
  if (status == 404) {
    return "; check brain.url (up to /v1) and brain.model (\"" + endpoint.model + "\")";
  }
  return "";
}

/// `said`: what the endpoint says about the failure.
ReplyAssessment of_failure(int status, const std::string& said, const Endpoint& endpoint,
                           bool any_taken) {
  const std::string why = fmt::format("{}: {}{}", status, said, remedy_of(status, endpoint));
  if (is_passing(status)) return {ReplyAction::retry, why, {}};
  const bool of_all = status >= 401 && status <= 404;
  return {of_all ? ReplyAction::end_run : refusal(any_taken), why, {}};
}

/// An error in an answer of status 200 is treated as its code says. Without a code, one in
/// a stream is taken for transient, since the endpoint had begun to answer.
ReplyAssessment of_answer(const HttpReply& reply, const Endpoint& endpoint, bool any_taken) {
  if (const auto error = reported_error(reply.content_type, reply.body)) {
    if (error->status == 0 && error->in_stream) {
      return {ReplyAction::retry, "the stream reports: " + error->message, {}};
    }
    if (error->status == 0) return {refusal(any_taken), "an error: " + error->message, {}};
    return of_failure(error->status, error->message + " (in an answer of status 200)", endpoint,
                      any_taken);
  }
  auto answer = parse_answer(reply.content_type, reply.body);
  if (answer) return {ReplyAction::accept, "", std::move(*answer)};
  const bool passing = answer.error().code != ErrorCode::parse_failed;
  return {passing ? ReplyAction::retry : refusal(any_taken), answer.error().message, {}};
}

ReplyAssessment of_status(const HttpReply& reply, const Endpoint& endpoint, bool any_taken) {
  const int status = reply.status;
  if (status >= 300 && status < 400) {
    return {ReplyAction::end_run,
            fmt::format("{}: it redirects to {}, which is not followed; set brain.url to it",
                        status, reply.location.empty() ? "nowhere" : reply.location),
            {}};
  }
  return of_failure(status, error_text(reply.content_type, reply.body), endpoint, any_taken);
}

}  // namespace

ReplyAssessment assess_reply(const HttpReply& reply, const Endpoint& endpoint, bool any_taken) {
  ReplyAssessment assessed = reply.fault != HttpFault::none ? of_fault(reply, any_taken)
                             : reply.status == 200          ? of_answer(reply, endpoint, any_taken)
                                                            : of_status(reply, endpoint, any_taken);
  if (!assessed.why.empty()) assessed.why = "POST " + endpoint.url + ": " + assessed.why;
  return assessed;
}

milliseconds wait_before(int64_t attempt, std::optional<std::chrono::seconds> retry_after,
                         milliseconds most, double uniform) {
  if (retry_after) {
    const bool is_longer = *retry_after > std::chrono::duration_cast<std::chrono::seconds>(most);
    return is_longer ? most : std::min<milliseconds>(*retry_after, most);
  }
  const double doubled =
      std::pow(2.0, static_cast<double>(std::clamp<int64_t>(attempt - 1, 0, 30)));
  const double grown = std::min(static_cast<double>(first_wait.count()) * doubled,
                                static_cast<double>(longest_wait.count()));
  return std::min(milliseconds{std::llround(grown * (1.0 - 0.5 * uniform))}, most);
}

}  // namespace warpsmith::actors
