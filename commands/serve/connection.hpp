// SPDX-License-Identifier: Apache-2.0
// Whether the client of a request is still there, before anything is written to it.
#pragma once

#include <functional>

namespace httplib {
struct Request;
}

namespace warpsmith::commands {

/// Asks the connection of a request that is being answered. The library keeps the socket to itself,
/// so the first call looks for it among those of the process.
std::function<bool()> connection_of(const httplib::Request& request);

}  // namespace warpsmith::commands
