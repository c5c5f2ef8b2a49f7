// SPDX-License-Identifier: Apache-2.0
// What to change where bubblewrap cannot make a jail.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/result.hpp"

namespace warpsmith::sandbox {

/// Which runtime's container this process runs in, as far as that can be seen.
enum class Container : uint8_t { none, docker, podman, kubernetes };
Container this_container();

/// The remedy for bubblewrap's message; empty if the message is unknown. Pure.
std::string jail_remedy(std::string_view bubblewrap_says, Container container);

/// The error for the user: bubblewrap's message and the remedy here.
Error jail_not_made(std::string bubblewrap_says);

}  // namespace warpsmith::sandbox
