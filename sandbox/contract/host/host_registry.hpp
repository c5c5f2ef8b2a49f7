// SPDX-License-Identifier: Apache-2.0
// What the build of contract `host` adds to a submission's sources, as text.
#pragma once

namespace warpsmith::sandbox {

/// `#include "../binding_registry.h"` from kernels/: REGISTER_BINDING(name, function), where the
/// function, or a lambda, takes `pybind11::module&` and defines what Python shall see.
inline constexpr const char* host_registry_file = "binding_registry.h";
extern const char* const host_registry_text;

/// The extension's module, which carries out what was registered.
inline constexpr const char* host_module_source = "binding.cpp";
extern const char* const host_module_text;

}  // namespace warpsmith::sandbox
