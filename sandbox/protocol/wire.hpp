// SPDX-License-Identifier: Apache-2.0
// The frames between client and service: a request, lines of progress, an answer.
#pragma once

#include <fmt/format.h>

#include <cereal/cereal.hpp>  // chrono.hpp needs it and does not include it
#include <cereal/types/chrono.hpp>
#include <cstdint>
#include <string>

#include "runtime/codec.hpp"
#include "runtime/describe.hpp"
#include "runtime/process/frame_socket.hpp"
#include "sandbox/protocol/requests.hpp"

namespace warpsmith::sandbox {

inline constexpr uint32_t wire_version = 7;
/// The number of the service's socket.
inline constexpr int service_socket_fd = 3;

enum class RequestKind : uint8_t { hello, evaluate, ingest, shell, job, health, shutdown };
inline constexpr uint8_t request_kinds = 7;

struct WireRequest {
  uint32_t version = wire_version;
  RequestKind kind = RequestKind::hello;
  uint64_t number = 0;   // the answer carries it too
  uint64_t left_ms = 0;  // until the caller's deadline
  std::string body;      // packed record of the kind

  WARPSMITH_RECORD(version, kind, number, left_ms, body)
  Result<void> validate() const {
    if (version != wire_version) {
      return fail(ErrorCode::parse_failed,
                  fmt::format("sandbox request: version {}, expected {}", version, wire_version));
    }
    if (static_cast<uint8_t>(kind) >= request_kinds) {
      return fail(ErrorCode::parse_failed,
                  fmt::format("sandbox request: unknown kind {}", static_cast<int>(kind)));
    }
    constexpr uint64_t day_ms = 86'400'000;
    if (left_ms > day_ms) return fail(ErrorCode::parse_failed, "sandbox request: deadline too far");
    return {};
  }
};

struct WireAnswer {
  uint64_t number = 0;
  bool progress = false;  // `body` is a line of progress; the answer follows later
  bool failed = false;
  ErrorCode code = ErrorCode::infrastructure;  // if failed
  std::string body;                            // packed record, or the error's message

  WARPSMITH_RECORD(number, progress, failed, code, body)
  Result<void> validate() const {
    if (code > ErrorCode::infrastructure) {
      return fail(ErrorCode::parse_failed,
                  fmt::format("sandbox answer: unknown error code {}", static_cast<int>(code)));
    }
    return {};
  }
};

template <class T>
std::string pack_body(const T& record) {
  const ByteBuffer bytes = codec::pack(record);
  return {bytes.begin(), bytes.end()};
}

template <class T>
Result<T> unpack_body(const std::string& body) {
  return codec::unpack<T>(body.data(), body.size());
}

}  // namespace warpsmith::sandbox
