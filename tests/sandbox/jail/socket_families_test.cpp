// SPDX-License-Identifier: Apache-2.0
// Socket families: a network namespace does not isolate all of them.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <array>
#include <string>

#include "sandbox/jail/presets.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"

namespace warpsmith::sandbox {
namespace {

using testing::hang_guard;

constexpr const char* interpreter = "/usr/bin/python3";

// Prints each call and family that the filter lets pass. The flags of the type are invalid, so the
// kernel itself answers EINVAL, also for a family that it was built without.
const std::string attempts = R"(
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
invalid = 1 << 20
for call, family in ((c, f) for c in calls for f in families):
    libc.syscall(ctypes.c_long(call), ctypes.c_long(family), ctypes.c_long(invalid), 0, None)
    if ctypes.get_errno() != errno.EAFNOSUPPORT:
        print(call, family, errno.errorcode[ctypes.get_errno()])
)";

std::string program_of_attempts() {
  const std::string calls = std::to_string(SYS_socket) + ", " + std::to_string(SYS_socketpair);
  return "calls = [" + calls + "]\nfamilies = [*range(" + std::to_string(AF_MAX) + " + 20), " +
         std::to_string(AF_VSOCK) + " + (1 << 32), -1]\n" + attempts;
}

std::string printed_in(JailSpec spec, const std::string& program) {
  spec.argv = {interpreter, "-I", "-c", program};
  const auto exit = run_jailed(spec, hang_guard());
  return exit ? exit->out + exit->err : exit.error().message;
}

JailSpec jail_of(JailKind kind) {
  JailSpec spec = kind == JailKind::compile ? compile_jail()
                  : kind == JailKind::shell ? shell_jail("/tmp")
                                            : worker_jail(interpreter).value();
  spec.kind = kind;
  return spec;
}

class SocketFamiliesTest : public ::testing::TestWithParam<JailKind> {};

TEST_P(SocketFamiliesTest, OnlyUnixSocketsReachTheKernel) {
  const std::string expected =
      std::to_string(SYS_socket) + " 1 EINVAL\n" + std::to_string(SYS_socketpair) + " 1 EINVAL\n";
  EXPECT_EQ(printed_in(jail_of(GetParam()), program_of_attempts()), expected);
}

TEST_P(SocketFamiliesTest, HasNoWayToTheHostOfAVirtualMachine) {
  const std::string program =
      "import socket\n"
      "try:\n"
      "    socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).connect((socket.VMADDR_CID_HOST, "
      "1))\n"
      "except OSError as error:\n"
      "    print(error.strerror)\n";
  EXPECT_EQ(printed_in(jail_of(GetParam()), program), "Address family not supported by protocol\n");
}

TEST_P(SocketFamiliesTest, KeepsPairsForProgramsThatStartOthers) {
  const std::string program =
      "import socket\n"
      "ends = socket.socketpair()\n"
      "ends[0].send(b'fine')\n"
      "print(ends[1].recv(4).decode())\n";
  EXPECT_EQ(printed_in(jail_of(GetParam()), program), "fine\n");
}

std::string name_of(const ::testing::TestParamInfo<JailKind>& jail) {
  constexpr std::array<const char*, 6> names{"run", "compile", "shell", "worker", "launch", "host"};
  return names.at(static_cast<size_t>(jail.param));
}

INSTANTIATE_TEST_SUITE_P(Jails, SocketFamiliesTest,
                         ::testing::Values(JailKind::shell, JailKind::compile, JailKind::worker,
                                           JailKind::launch, JailKind::host),
                         name_of);

}  // namespace
}  // namespace warpsmith::sandbox
