// SPDX-License-Identifier: Apache-2.0
// The fixed texts of an exported package. @PACKAGE@ stands for its name.
#pragma once

namespace warpsmith::actors {

extern const char* const export_init;             // PACKAGE/__init__.py
extern const char* const export_build;            // PACKAGE/build.py
extern const char* const export_operator_head;    // csrc/op.cpp, before the tables
extern const char* const export_operator_tail;    // csrc/op.cpp, after them
extern const char* const export_regression_test;  // test_regression.py
extern const char* const export_pyproject;        // pyproject.toml
extern const char* const export_readme;           // README.md

}  // namespace warpsmith::actors
