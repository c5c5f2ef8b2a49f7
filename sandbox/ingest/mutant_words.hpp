// SPDX-License-Identifier: Apache-2.0
// Words for the wrong answers of the mutation gate, which records name as mutants.py does. Pure.
#pragma once

#include <string>

namespace warpsmith::sandbox {

/// What a task cannot tell, with words in place of the mutants' names: "the first row in every row
/// (0 of the bound)" for "first_row (0 of the bound)". For people; records keep the names.
std::string in_words(const std::string& wrong_answers);

}  // namespace warpsmith::sandbox
