// SPDX-License-Identifier: Apache-2.0
// The fixed texts of an exported package. @PACKAGE@ stands for its name.
#pragma once

namespace warpsmith::commands {

// Texts that every package has.
extern const char* const export_init_head;      // PACKAGE/__init__.py, before the ops are loaded
extern const char* const export_init_tail;      // and after it
extern const char* const export_models;         // PACKAGE/models.py
extern const char* const export_build_head;     // PACKAGE/build.py, before the part of the contract
extern const char* const export_build_tail;     // and after it
extern const char* const export_operator_head;  // csrc/op.cpp, between its includes and its tables
extern const char* const export_operator_tail;  // after the part of the contract
extern const char* const export_test_head;      // test_regression.py, before the part that times
extern const char* const export_test_tail;      // and after it
extern const char* const export_pyproject;      // pyproject.toml
extern const char* const export_readme;         // README.md

/// The texts that differ between contracts.
struct ExportTexts {
  const char* load;      // of __init__.py: what registers the ops
  const char* build;     // of build.py: _facts and _build
  const char* includes;  // op.cpp's first lines
  const char* call;      // of op.cpp: what runs the kernel
  const char* room;      // of op.cpp: the expression that makes output i
  const char* timing;    // of test_regression.py: time_shape
  const char* needs;     // a paragraph of the README: what the first import compiles, and with what
};

const ExportTexts& cpu_export_texts();
const ExportTexts& device_export_texts();
const ExportTexts& module_export_texts();
extern const char* const export_load_library;     // of ExportTexts: the ops of csrc/op.cpp
extern const char* const export_architecture;     // of build.py: the GPU to compile for
extern const char* const export_device_includes;  // of ExportTexts
extern const char* const export_device_call;
extern const char* const export_device_products;  // op.cpp of a plan with `gemm` steps
extern const char* const export_module_operator;  // op.py of contract `host`

}  // namespace warpsmith::commands
