// SPDX-License-Identifier: Apache-2.0
// Contract `host`: what a submission is. Its files tell which of two layouts it has:
//
//   workspace   model_new.py with `class ModelNew`, kernels/*.cu and kernels/*_binding.cpp. The
//               sources make one extension, which model_new.py imports as `cuda_extension`; each
//               binding file registers its functions with REGISTER_BINDING of binding_registry.h,
//               which the build provides (host_compiler.cpp).
//   one file    only model_new.py: plain torch code, or extensions built by torch's own loaders
//               (torch.utils.cpp_extension).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "runtime/describe.hpp"
#include "runtime/submission.hpp"
#include "sandbox/compile/compiled.hpp"

namespace warpsmith::sandbox {

inline constexpr const char* host_module_file = "model_new.py";
inline constexpr const char* host_extension_name = "cuda_extension";

/// How a submission's compiled part is built, and how its process finds it.
enum class HostArtefact : uint8_t {
  none,       // plain Python
  extension,  // a shared object, by the judge's command lines
  built,      // a tar of what torch's loaders build while model_new.py is imported
};
/// "none", "extension" or "inline": the worker's words for them.
constexpr auto names_of(HostArtefact) {
  return std::to_array<std::string_view>({"none", "extension", "inline"});
}

struct HostSubmission {
  FileSet modules;                    // Python files, for the candidate's process
  FileSet sources;                    // the extension's sources and headers
  std::vector<std::string> compiled;  // names in `sources` that are compiled, in order
  HostArtefact artefact = HostArtefact::none;
};

/// `compile_error` names a file that is missing, misplaced, no text or too large. Leaves out files
/// that the build provides (binding.cpp, binding_registry.h, model.py, reference.py). Pure.
OrFailed<HostSubmission> host_submission(const FileSet& files, int64_t most_bytes);

}  // namespace warpsmith::sandbox
