// SPDX-License-Identifier: Apache-2.0
// warpsmith-test-launcher: the launcher of warpsmith-sandbox on the software device.
#include <cstdio>
#include <span>
#include <string_view>

#include "sandbox/launch/launcher.hpp"
#include "sandbox/service/loaded_libraries.hpp"
#include "tests/sandbox/support/software_device/software_device.hpp"

int main(int argc, char** argv) {
  namespace sandbox = warpsmith::sandbox;
  const std::span<char*> arguments(argv, static_cast<size_t>(argc));
  const std::string_view mode = arguments.size() > 1 ? arguments[1] : "";
  if (mode == sandbox::launcher_mode) {
    const bool records = arguments.size() > 2;
    return sandbox::run_launcher(sandbox::testing::make_software_device,
                                 records ? sandbox::Recording::on : sandbox::Recording::off);
  }
  // A jail asks for these before it starts the program.
  for (const std::string& file : sandbox::loaded_libraries()) std::puts(file.c_str());
  return 0;
}
