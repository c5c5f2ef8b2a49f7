// SPDX-License-Identifier: Apache-2.0
// What the build of contract `host` adds to a submission's sources, as text.
#pragma once

namespace warpsmith::sandbox {

/// Files in kernels/ `#include "../binding_registry.h"` for REGISTER_BINDING(name, function). The
/// function, or a lambda, takes `pybind11::module&` and defines what Python sees.
inline constexpr const char* host_registry_file = "binding_registry.h";
extern const char* const host_registry_text;

/// The extension's module, which calls all registered functions.
inline constexpr const char* host_module_source = "binding.cpp";
extern const char* const host_module_text;

}  // namespace warpsmith::sandbox
