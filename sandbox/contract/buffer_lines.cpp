// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/buffer_lines.hpp"

#include <array>

namespace warpsmith::sandbox {

std::string_view dtype_name(Dtype dtype) {
  static constexpr std::array<std::string_view, 10> names{"f32", "f64", "f16", "bf16", "i64",
                                                          "i32", "i16", "i8",  "u8",   "bool"};
  const auto index = static_cast<size_t>(dtype);
  return index < names.size() ? names[index] : "unknown";
}

std::string buffer_lines(const TaskSignature& signature) {
  std::string text;
  size_t in = 0;
  size_t out = 0;
  for (const TensorSpec& tensor : signature.tensors) {
    const bool is_output = tensor.role == TensorRole::output;
    text += is_output ? "out[" + std::to_string(out++) : "in[" + std::to_string(in++);
    text.append("] ").append(tensor.name).append(" ").append(dtype_name(tensor.dtype)) += " [";
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      text += (i == 0 ? "" : ", ") + std::to_string(tensor.shape[i]);
    }
    text += "]\n";
  }
  text += "dims";
  for (const int64_t dim : signature.dims) text += ' ' + std::to_string(dim);
  return text;
}

std::string tensor_lines(const TaskSignature& signature) {
  return buffer_lines(signature) + '\n';
}

}  // namespace warpsmith::sandbox
