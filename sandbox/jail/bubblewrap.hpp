// SPDX-License-Identifier: Apache-2.0
// bubblewrap's command line for a jail. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sandbox/jail/jail.hpp"

namespace warpsmith::sandbox {

/// The numbers of bubblewrap's own descriptors.
struct BubblewrapDescriptors {
  int status = 60;                   // it writes the jailed process's number and end here
  int seccomp = 61;                  // it reads the BPF program here
  std::map<std::string, int> files;  // path in the jail → number with the content
};

/// All arguments, `program` first.
std::vector<std::string> bubblewrap_arguments(const JailSpec& spec, const std::string& program,
                                              const BubblewrapDescriptors& descriptors);

}  // namespace warpsmith::sandbox
