// SPDX-License-Identifier: Apache-2.0
// Which system calls each filter allows: its program is run here for every call of x86-64.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "sandbox/jail/seccomp_filter.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr const char* golden = "tests/sandbox/jail/system_calls.txt";

using Program = std::vector<sock_filter>;

Program program_of(const Result<std::string>& bytes) {
  if (!bytes) throw std::runtime_error(bytes.error().message);
  Program program(bytes->size() / sizeof(sock_filter));
  std::memcpy(program.data(), bytes->data(), bytes->size());
  return program;
}

/// How many instructions a jump skips.
size_t skipped(const sock_filter& step, uint32_t value) {
  switch (BPF_OP(step.code)) {
    case BPF_JA:
      return step.k;
    case BPF_JEQ:
      return value == step.k ? step.jt : step.jf;
    case BPF_JGT:
      return value > step.k ? step.jt : step.jf;
    case BPF_JGE:
      return value >= step.k ? step.jt : step.jf;
    default:
      return (value & step.k) != 0 ? step.jt : step.jf;  // BPF_JSET
  }
}

/// What the kernel would do with `call`, all of whose arguments are zero.
uint32_t answer(const Program& program, int call) {
  const seccomp_data data{
      .nr = call, .arch = SCMP_ARCH_X86_64, .instruction_pointer = 0, .args = {}};
  uint32_t value = 0;
  for (size_t at = 0; at < program.size(); ++at) {
    const sock_filter& step = program[at];
    switch (BPF_CLASS(step.code)) {
      case BPF_LD:
        std::memcpy(&value, reinterpret_cast<const char*>(&data) + step.k, 4);
        break;
      case BPF_ALU:
        value &= step.k;
        break;
      case BPF_JMP:
        at += skipped(step, value);
        break;
      default:
        return step.k;  // BPF_RET
    }
  }
  throw std::runtime_error("the filter has no end");
}

/// The calls that get `wanted` as their answer.
std::string calls_with(const Program& program, uint32_t wanted) {
  constexpr int most_calls = 512;
  std::string names;
  for (int call = 0; call < most_calls; ++call) {
    const std::unique_ptr<char, decltype(&std::free)> name(
        seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, call), &std::free);
    if (name && answer(program, call) == wanted) names.append(" ").append(name.get());
  }
  return names + "\n";
}

TEST(SystemCallsTest, EachFilterAllowsAndRefusesWhatTheGoldenFileLists) {
  if (seccomp_arch_native() != SCMP_ARCH_X86_64) GTEST_SKIP() << "the file lists calls of x86-64";
  const uint32_t refused = SCMP_ACT_ERRNO(EPERM);
  std::string text =
      "run allows:" + calls_with(program_of(seccomp_program(JailKind::run)), SCMP_ACT_ALLOW);
  text += "shell refuses:" + calls_with(program_of(seccomp_program(JailKind::shell)), refused);
  text += "worker refuses:" + calls_with(program_of(seccomp_program(JailKind::worker)), refused);
  text += "candidate refuses:" + calls_with(program_of(host_candidate_program()), refused);
  std::ostringstream listed;
  listed << std::ifstream(golden).rdbuf();
  EXPECT_EQ(text, listed.str());
}

TEST(SystemCallsTest, JailsThatRunProgramsShareOneFilter) {
  const auto shell = seccomp_program(JailKind::shell).value();
  for (const JailKind kind : {JailKind::compile, JailKind::launch, JailKind::host}) {
    EXPECT_EQ(seccomp_program(kind).value(), shell);
  }
}

}  // namespace
}  // namespace warpsmith::sandbox
