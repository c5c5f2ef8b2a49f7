// SPDX-License-Identifier: Apache-2.0
// Format: Chrome's "Trace Event Format"; times are microseconds.
#include <nlohmann/json.hpp>

#include "sandbox/profile/profile.hpp"

namespace warpsmith::sandbox {
namespace {

using Json = nlohmann::json;

constexpr int stream = 1;  // one thread per process

Json named(const char* what, int process, const char* name) {
  return {
      {"ph", "M"}, {"name", what}, {"pid", process}, {"tid", stream}, {"args", {{"name", name}}}};
}

/// The event's arguments are all the other facts of the kernel.
Json event_of(const Json& kernel, int process) {
  Json args = kernel;
  for (const char* shown : {"name", "kind", "start_us", "time_us"}) args.erase(shown);
  return {{"ph", "X"},
          {"name", kernel.at("name").get<std::string>()},
          {"cat", kernel.at("kind").get<std::string>()},
          {"pid", process},
          {"tid", stream},
          {"ts", kernel.at("start_us").get<double>()},
          {"dur", kernel.at("time_us").get<double>()},
          {"args", std::move(args)}};
}

Json events_of(const Json& profile) {
  Json events = Json::array();
  int process = 0;
  for (const char* party : {"candidate", "eager", "compile"}) {
    ++process;
    events.push_back(named("process_name", process, party));
    events.push_back(named("thread_name", process, "one call"));
    for (const Json& kernel : profile.at(party).at("kernels")) {
      events.push_back(event_of(kernel, process));
    }
  }
  return events;
}

}  // namespace

Result<std::string> profile_trace(const std::string& profile_json) {
  try {
    const Json profile = Json::parse(profile_json);
    const Json trace{
        {"traceEvents", events_of(profile)},
        {"displayTimeUnit", "ns"},
        {"otherData", {{"call", profile.at("call")}, {"device", profile.at("device")}}}};
    return trace.dump(-1, ' ', false, Json::error_handler_t::replace);
  } catch (const Json::exception& e) {
    return fail(ErrorCode::parse_failed, std::string("profile: ") + e.what());
  }
}

}  // namespace warpsmith::sandbox
