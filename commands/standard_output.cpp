// SPDX-License-Identifier: Apache-2.0
#include "commands/standard_output.hpp"

#include <fcntl.h>

#include <cerrno>
#include <ostream>

namespace warpsmith::commands {

void reserve_standard_streams() {
  for (const int stream : {0, 1, 2}) {
    // open() takes the lowest free number: this one. Children inherit it, as any standard stream.
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF) (void)::open("/dev/null", O_RDONLY);
  }
}

ExitCode flush_output(ExitCode code, std::ostream& out) {
  if (out.flush()) return code;
  const ExitCode lost = report({ErrorCode::io_failed, "cannot write to standard output"});
  return code == ExitCode::success ? lost : code;
}

}  // namespace warpsmith::commands
