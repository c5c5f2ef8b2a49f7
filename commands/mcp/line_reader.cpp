// SPDX-License-Identifier: Apache-2.0
#include "commands/mcp/line_reader.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace warpsmith::commands {

/// Moves a whole line out of the buffer.
bool LineReader::take(std::string& line) {
  const size_t end = buffer_.find('\n', searched_);
  searched_ = end == std::string::npos ? buffer_.size() : 0;
  if (end == std::string::npos) return false;
  line = buffer_.substr(0, end);
  if (line.ends_with('\r')) line.pop_back();
  buffer_.erase(0, end + 1);
  return true;
}

LineReader::Got LineReader::next(std::string& line, std::chrono::milliseconds span) {
  if (take(line)) {
    const bool rest = std::exchange(skipping_, false);
    return rest || line.size() > most_ ? Got::too_long : Got::line;
  }
  if (buffer_.size() > most_) {
    buffer_.clear();
    searched_ = 0;
    skipping_ = true;
  }
  pollfd ready{.fd = descriptor_, .events = POLLIN, .revents = 0};
  const int polled = ::poll(&ready, 1, static_cast<int>(span.count()));
  if (polled == 0 || (polled < 0 && errno == EINTR)) return Got::nothing;
  std::array<char, 65'536> piece{};
  const ssize_t size = ::read(descriptor_, piece.data(), piece.size());
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) return Got::nothing;
  if (size <= 0) return Got::end;
  buffer_.append(piece.data(), static_cast<size_t>(size));
  return Got::nothing;
}

}  // namespace warpsmith::commands
