// SPDX-License-Identifier: Apache-2.0
#include "tests/actors/net/net_support.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace warpsmith::actors {

ServerProcess::ServerProcess() {
  std::array<int, 2> in{}, out{};
  if (pipe(in.data()) != 0 || pipe(out.data()) != 0) throw std::runtime_error("no pipes");
  pid_ = fork();
  if (pid_ == 0) {
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    for (const int fd : {in[0], in[1], out[0], out[1]}) close(fd);
    execl("/proc/self/exe", "actors_net_test", "serve", nullptr);
    std::_Exit(127);
  }
  close(in[0]);
  close(out[1]);
  input_ = in[1];
  std::FILE* lines = fdopen(out[0], "r");
  int port = 0;
  while (ports_.size() < 11 && std::fscanf(lines, "%d", &port) == 1) {
    ports_.push_back(static_cast<uint16_t>(port));
  }
  (void)std::fclose(lines);
}

ServerProcess::~ServerProcess() {
  close(input_);
  int status = 0;
  waitpid(pid_, &status, 0);
}

}  // namespace warpsmith::actors
