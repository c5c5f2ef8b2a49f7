// SPDX-License-Identifier: Apache-2.0
// bubblewrap's command line for a jail. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sandbox/jail/jail.hpp"

namespace warpsmith::sandbox {

/// Numbers that bubblewrap itself finds its descriptors under.
struct BubblewrapDescriptors {
  int status = 60;                   // it writes the jailed process and its end here
  int seccomp = 61;                  // it reads the BPF program here
  std::map<std::string, int> files;  // path in the jail → number with the content
};

/// All arguments, `program` first.
std::vector<std::string> bubblewrap_arguments(const JailSpec& spec, const std::string& program,
                                              const BubblewrapDescriptors& descriptors);

}  // namespace warpsmith::sandbox
