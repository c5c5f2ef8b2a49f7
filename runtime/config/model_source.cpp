// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/model_source.hpp"

#include <array>

namespace warpsmith {
namespace {
constexpr std::array<std::string_view, 2> weight_names{"load", "random"};
}  // namespace

void describe(Fields& fields, ModelSource& c) {
  fields.require("folder");
  fields.path("folder", c.folder);
  fields.choice_of("weights", c.weights, weight_names);
}

void validate(const ModelSource& c, Complaints& complaints) {
  complaints.require(!complaints.was_set("model.folder") || !c.folder.empty(), "model.folder",
                     "expected a folder in Hugging Face layout, got an empty path");
}

}  // namespace warpsmith
