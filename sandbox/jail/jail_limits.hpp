// SPDX-License-Identifier: Apache-2.0
// The resource limits of a jail, and their entries in its report.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/process/child.hpp"
#include "sandbox/jail/cgroup.hpp"
#include "sandbox/jail/jail.hpp"

namespace warpsmith::sandbox {

/// Limits that every machine supports, and substitutes for the cgroup limits that are missing.
std::vector<ResourceLimit> resource_limits(const JailSpec& spec, const JailCgroup& cgroup);

/// Primitive → what is in force, as far as it is known before the process runs.
std::map<std::string, std::string> limits_in_force(const JailSpec& spec, const JailCgroup& cgroup);

}  // namespace warpsmith::sandbox
