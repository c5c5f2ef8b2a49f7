// SPDX-License-Identifier: Apache-2.0
// The limits of a jail beside its namespaces: what is set before its program starts, and how a
// report calls it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/process/child.hpp"
#include "sandbox/jail/cgroup.hpp"
#include "sandbox/jail/jail.hpp"

namespace warpsmith::sandbox {

/// Limits that hold everywhere, and stand-ins for what the cgroups cannot give.
std::vector<ResourceLimit> resource_limits(const JailSpec& spec, const JailCgroup& cgroup);

/// Primitive → what is in force, as far as it is known without looking at the process.
std::map<std::string, std::string> limits_in_force(const JailSpec& spec, const JailCgroup& cgroup);

}  // namespace warpsmith::sandbox
