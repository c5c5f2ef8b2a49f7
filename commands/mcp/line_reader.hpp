// SPDX-License-Identifier: Apache-2.0
// Lines of bounded length from a file descriptor.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace warpsmith::commands {

class LineReader {
 public:
  enum class Got : uint8_t { line, too_long, nothing, end };

  LineReader(int descriptor, size_t most_bytes) : descriptor_(descriptor), most_(most_bytes) {}

  /// Waits up to `span` for a line, without its newline. `too_long`: a line was skipped. `end`:
  /// nothing more comes; a last line without newline is dropped.
  Got next(std::string& line, std::chrono::milliseconds span);

 private:
  bool take(std::string& line);

  int descriptor_;
  size_t most_;
  std::string buffer_;
  size_t searched_ = 0;    // bytes of the buffer that hold no newline
  bool skipping_ = false;  // the rest of a line that is too long
};

}  // namespace warpsmith::commands
