// SPDX-License-Identifier: Apache-2.0
// bubblewrap's command line for a jail, and what to change if bubblewrap cannot make one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"
#include "sandbox/jail/jail.hpp"

namespace warpsmith::sandbox {

/// The numbers of bubblewrap's own descriptors.
struct BubblewrapDescriptors {
  int status = 60;                   // it writes the jailed process's number and end here
  int seccomp = 61;                  // it reads the BPF program here
  std::map<std::string, int> files;  // path in the jail → number with the content
};

/// All arguments, `program` first. Pure.
std::vector<std::string> bubblewrap_arguments(const JailSpec& spec, const std::string& program,
                                              const BubblewrapDescriptors& descriptors);

/// Which runtime's container this process runs in, as far as that can be seen.
enum class Container : uint8_t { none, docker, podman, kubernetes };
Container this_container();

/// The remedy for bubblewrap's message; empty if the message is unknown. Pure.
std::string jail_remedy(std::string_view bubblewrap_says, Container container);

/// The error for the user: bubblewrap's message and the remedy here.
Error jail_not_made(std::string bubblewrap_says);

}  // namespace warpsmith::sandbox
