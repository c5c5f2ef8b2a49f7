// SPDX-License-Identifier: Apache-2.0
// Element types as torch names them. Pure.
#pragma once

#include <string_view>

#include "runtime/task.hpp"

namespace warpsmith::commands {

struct TypeNames {
  std::string_view python, cpp;  // torch.NAME and at::ScalarType::NAME
};

constexpr TypeNames type_names(Dtype type) {
  switch (type) {
    case Dtype::f32:
      return {"float32", "Float"};
    case Dtype::f64:
      return {"float64", "Double"};
    case Dtype::f16:
      return {"float16", "Half"};
    case Dtype::bf16:
      return {"bfloat16", "BFloat16"};
    case Dtype::i64:
      return {"int64", "Long"};
    case Dtype::i32:
      return {"int32", "Int"};
    case Dtype::i16:
      return {"int16", "Short"};
    case Dtype::i8:
      return {"int8", "Char"};
    case Dtype::u8:
      return {"uint8", "Byte"};
    case Dtype::boolean:
      return {"bool", "Bool"};
  }
  return {"float32", "Float"};
}

}  // namespace warpsmith::commands
