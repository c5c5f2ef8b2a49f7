// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/stack_record.hpp"

#include <fmt/format.h>

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace warpsmith {

using nlohmann::json;

namespace {

/// The value in a file's first line "key<separator>value", without quotes.
std::string value_in(const char* path, std::string_view key, char separator) {
  std::ifstream file{path};
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const size_t at = line.find(separator);
    if (at == std::string::npos) continue;
    const size_t first = line.find_first_not_of(" \t\"", at + 1);
    const size_t last = line.find_last_not_of(" \t\"");
    return first == std::string::npos ? "" : line.substr(first, last - first + 1);
  }
  return "";
}

uint32_t usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 0;
  return static_cast<uint32_t>(CPU_COUNT(&set));
}

uint64_t physical_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long bytes = sysconf(_SC_PAGESIZE);
  return pages < 0 || bytes < 0 ? 0 : static_cast<uint64_t>(pages) * static_cast<uint64_t>(bytes);
}

json to_object(const GpuRecord& gpu) {
  return {{"name", gpu.name},
          {"memory_bytes", gpu.memory_bytes},
          {"driver", gpu.driver},
          {"arch", gpu.arch}};
}

/// The path of each field → its value; a text that is not JSON is one field.
json fields_of(const std::string& text) {
  const json parsed = json::parse(text, nullptr, /*allow_exceptions=*/false);
  return parsed.is_object() ? parsed.flatten() : json{{"/", text}};
}

std::string shown(const json& fields, const std::string& field) {
  const auto found = fields.find(field);
  if (found == fields.end()) return "-";
  return found->dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

StackRecord host_stack() {
  StackRecord stack;
  stack.compiler = std::string("g++ ") + __VERSION__;
  stack.os = value_in("/etc/os-release", "PRETTY_NAME", '=');
  utsname name{};
  if (uname(&name) == 0) stack.kernel = std::string(name.sysname) + ' ' + name.release;
  stack.cpu = value_in("/proc/cpuinfo", "model name", ':');
  stack.cores = usable_cores();
  stack.memory_bytes = physical_memory();
  return stack;
}

std::string to_json(const StackRecord& stack) {
  json object{{"warpsmith", stack.warpsmith},
              {"compiler", stack.compiler},
              {"os", stack.os},
              {"kernel", stack.kernel},
              {"cpu", stack.cpu},
              {"cores", stack.cores},
              {"memory_bytes", stack.memory_bytes},
              {"versions", stack.versions}};
  object["gpus"] = json::array();
  for (const GpuRecord& gpu : stack.gpus) object["gpus"].push_back(to_object(gpu));
  return object.dump(2, ' ', false, json::error_handler_t::replace) + '\n';
}

std::vector<std::string> record_differences(const std::string& before, const std::string& now) {
  const json old = fields_of(before), current = fields_of(now);
  json all = old;
  all.update(current);
  std::vector<std::string> out;
  for (const auto& [field, value] : all.items()) {
    const std::string was = shown(old, field), is = shown(current, field);
    if (was != is) out.push_back(fmt::format("{}: {} before, {} now", field, was, is));
  }
  return out;
}

}  // namespace warpsmith
