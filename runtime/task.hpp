// SPDX-License-Identifier: Apache-2.0
// A task: a Python file in KernelBench's format, and the measurements taken at ingest.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/describe.hpp"

namespace warpsmith {

enum class DeviceClass : uint8_t { cpu, cuda };
enum class PrecisionLane : uint8_t { fp32_strict, tf32_allowed };

/// One task. `code` defines Model, get_inputs and get_init_inputs.
struct Task {
  std::string id;            // unique within a run, e.g. "softmax_rows"
  std::string source;        // the file or dataset that it comes from
  std::string code;          // the Python source text
  std::string content_hash;  // SHA-256 of `code`
  DeviceClass device = DeviceClass::cpu;
  PrecisionLane lane = PrecisionLane::fp32_strict;
  std::vector<std::string> ops;  // operators that the task declares; may be empty

  WARPSMITH_RECORD(id, source, code, content_hash, device, lane, ops)
};

enum class Dtype : uint8_t { f32, f64, f16, bf16, i64, i32, i16, i8, u8, boolean };
constexpr auto names_of(Dtype) {
  return std::to_array<std::string_view>(
      {"f32", "f64", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "boolean"});
}
enum class TensorRole : uint8_t { input, parameter, output };
constexpr auto names_of(TensorRole) {
  return std::to_array<std::string_view>({"input", "parameter", "output"});
}

/// One tensor of the task's signature: contiguous, row-major, 64-byte aligned.
struct TensorSpec {
  std::string name;
  TensorRole role = TensorRole::input;
  Dtype dtype = Dtype::f32;
  std::vector<int64_t> shape;        // empty: a scalar, one element
  std::vector<std::string> symbols;  // the name of each extent, e.g. {"d0", "d1"}

  WARPSMITH_RECORD(name, role, dtype, shape, symbols)
};

/// A non-tensor argument of forward; it has the same value in every call.
struct ConstantSpec {
  std::string name;
  std::string value;  // as Python writes it, e.g. "0.5", "None"

  WARPSMITH_RECORD(name, value)
};

/// The buffers that `solve` receives, in order: inputs, then parameters, then outputs.
struct TaskSignature {
  std::vector<TensorSpec> tensors;
  std::vector<ConstantSpec> constants;
  std::vector<std::string> dim_names;  // in the order of `dims`
  std::vector<int64_t> dims;

  WARPSMITH_RECORD(tensors, constants, dim_names, dims)
};

/// The measurements of ingest, taken once per task, machine and software stack.
struct TaskFacts {
  TaskSignature signature;
  double eager_ms = 0;
  double compile_ms = 0;
  double bytes_moved = 0;  // the least that any implementation must read and write
  double flops = 0;        // counted by the reference worker; 0 if unknown
  double floor_ms = 0;     // lower bound: no honest kernel is faster
  double roofline_ms = 0;  // what the bytes and operations take at this machine's measured rates
  /// The wrong answers that its outputs cannot tell from right ones under numerics `strict`, with
  /// commas between; empty if there are none. Unfit for training, fit for an evaluation.
  std::string insensitive;
  /// Why torch.compile is no baseline: it failed, or differs from eager. Then verdicts name no time
  /// of it, and `compile_ms` is eager's. Otherwise empty.
  std::string compile_reason;

  WARPSMITH_RECORD(signature, eager_ms, compile_ms, bytes_moved, flops, floor_ms, roofline_ms,
                   insensitive, compile_reason)
};

}  // namespace warpsmith
