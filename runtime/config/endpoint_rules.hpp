// SPDX-License-Identifier: Apache-2.0
// What may stand in the configuration of a chat endpoint.
#pragma once

#include <string>

#include "runtime/config/complaints.hpp"

namespace warpsmith {

/// Complains about a URL that is none, or that could hold a key; `table`: "brain". A complaint
/// leaves out the place, since that of an option is its text.
void validate_url(const std::string& table, const std::string& url, Complaints& complaints);

/// Complains about a name that no environment variable has; it may be the key itself.
void validate_key_env(const std::string& table, const std::string& name, Complaints& complaints);

}  // namespace warpsmith
