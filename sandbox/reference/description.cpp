// SPDX-License-Identifier: Apache-2.0
#include "sandbox/reference/description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

namespace warpsmith::sandbox {
namespace {

using Json = nlohmann::json;

constexpr int64_t max_elements = int64_t{1} << 34U;  // the worker checks how many fit
constexpr size_t max_tensors = 4096;                 // far beyond the largest networks
constexpr size_t max_rank = 16;

template <size_t N>
size_t index_of(const std::array<std::string_view, N>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw std::runtime_error("unknown name \"" + name + '"');
  return static_cast<size_t>(found - names.begin());
}

void check(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

TensorSpec tensor_of(const Json& entry) {
  TensorSpec spec;
  spec.name = entry.at("name").get<std::string>();
  check(!spec.name.empty() && spec.name.size() <= 256, "a tensor's name must have 1 to 256 bytes");
  spec.role = static_cast<TensorRole>(
      index_of(enum_names<TensorRole>, entry.at("role").get<std::string>()));
  spec.dtype =
      static_cast<Dtype>(index_of(enum_names<Dtype>, entry.at("dtype").get<std::string>()));
  spec.shape = entry.at("shape").get<std::vector<int64_t>>();
  check(spec.shape.size() <= max_rank, spec.name + ": rank above 16");
  int64_t elements = 1;
  for (const int64_t extent : spec.shape) {
    check(extent >= 0 && extent <= max_elements, spec.name + ": extent out of range");
    check(extent == 0 || elements <= max_elements / extent,
          spec.name + ": more than 2^34 elements");
    elements *= extent;
  }
  return spec;
}

double number(const Json& entry, const char* name) {
  const auto found = entry.find(name);
  return found != entry.end() && found->is_number() ? found->get<double>() : 0;
}

/// The tensors, and what is said about their values.
TaskDescription tensors_in(const Json& json) {
  TaskDescription d;
  int last_role = 0;
  std::set<std::string> names;
  for (const Json& entry : json.at("signature")) {
    d.signature.tensors.push_back(tensor_of(entry));
    const std::string& name = d.signature.tensors.back().name;
    check(names.insert(name).second, "signature: two tensors are named " + name);
    const int role = static_cast<int>(d.signature.tensors.back().role);
    check(role >= last_role, "signature: inputs, parameters and outputs are out of order");
    last_role = role;
    d.values.push_back({number(entry, "mean"), number(entry, "deviation"), number(entry, "low"),
                        number(entry, "high")});
  }
  check(!d.values.empty() && d.values.size() <= max_tensors,
        fmt::format("signature: 1 to {} tensors expected", max_tensors));
  check(last_role == static_cast<int>(TensorRole::output), "signature: no output");
  name_extents(d.signature);
  return d;
}

std::vector<ConstantSpec> constants_in(const Json& json) {
  std::vector<ConstantSpec> constants;
  for (const Json& entry : json.at("constants")) {
    constants.push_back(
        {entry.at("name").get<std::string>(), entry.at("value").get<std::string>()});
  }
  check(constants.size() <= max_tensors, fmt::format("more than {} constants", max_tensors));
  return constants;
}

TaskDescription description_of(const Json& json) {
  TaskDescription d = tensors_in(json);
  d.signature.constants = constants_in(json);
  d.flops = number(json, "flops");
  d.mutants = json.at("mutants").get<std::vector<std::string>>();
  d.lower_precisions = json.at("lower_precisions").get<std::vector<std::string>>();
  d.honest_orders = json.at("honest_orders").get<std::vector<std::string>>();
  check(d.honest_orders.size() <= 16, "more than 16 orders");
  check(d.mutants.size() + d.lower_precisions.size() <= 2 * max_tensors, "too many mutants");
  d.insensitive = json.at("insensitive").get<std::string>();
  d.compiled = json.at("compiled").get<bool>();
  d.worker_bytes = json.at("worker_bytes").get<uint64_t>();
  return d;
}

/// The result of `read` on the parsed text; exceptions become errors.
auto parsed(const std::string& text, const auto& read) -> Result<decltype(read(Json{}))> {
  try {
    return read(Json::parse(text));
  } catch (const std::exception& e) {
    return fail(ErrorCode::parse_failed, std::string("the worker's description: ") + e.what());
  }
}

}  // namespace

void name_extents(TaskSignature& signature) {
  signature.dims.clear();
  signature.dim_names.clear();
  for (TensorSpec& spec : signature.tensors) {
    spec.symbols.clear();
    for (const int64_t extent : spec.shape) {
      auto found = std::find(signature.dims.begin(), signature.dims.end(), extent);
      const auto index = static_cast<size_t>(found - signature.dims.begin());
      if (found == signature.dims.end()) {
        signature.dims.push_back(extent);
        signature.dim_names.push_back(fmt::format("d{}", index));
      }
      spec.symbols.push_back(signature.dim_names[index]);
    }
  }
}

Result<TaskDescription> parse_description(const std::string& json) {
  return parsed(json, description_of);
}

Result<TaskSignature> parse_signature(const std::string& json) {
  return parsed(json, [](const Json& answer) { return tensors_in(answer).signature; });
}

}  // namespace warpsmith::sandbox
