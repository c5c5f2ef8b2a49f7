// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/host/host_registry.hpp"

namespace warpsmith::sandbox {

const char* const host_registry_text = R"header(#ifndef WARPSMITH_BINDING_REGISTRY_H
#define WARPSMITH_BINDING_REGISTRY_H
#include <pybind11/pybind11.h>

#include <functional>
#include <utility>
#include <vector>

namespace warpsmith_bindings {

using Definition = std::function<void(pybind11::module&)>;

inline std::vector<Definition>& all() {
  static std::vector<Definition> definitions;
  return definitions;
}

struct Entry {
  explicit Entry(Definition definition) { all().push_back(std::move(definition)); }
};

}  // namespace warpsmith_bindings

// Variadic: a lambda's body may hold commas.
#define WARPSMITH_BINDING_NAME_(name) warpsmith_binding_of_##name
#define REGISTER_BINDING(name, ...) \
  static const ::warpsmith_bindings::Entry WARPSMITH_BINDING_NAME_(name){__VA_ARGS__};
#endif
)header";

const char* const host_module_text = R"source(#include "binding_registry.h"

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  for (const auto& define : ::warpsmith_bindings::all()) define(module);
}
)source";

}  // namespace warpsmith::sandbox
