// SPDX-License-Identifier: Apache-2.0
// Contract `host` against candidates that cheat from within their own process.
#include "tests/sandbox/support/host_fixture.hpp"

namespace warpsmith::sandbox {
namespace {

using test::honest_forward;
using test::model_new;
using ::testing::AnyOf;
using ::testing::Eq;
using ::testing::HasSubstr;

class HostHackTest : public test::HostJudged {};

// Finds the runner's own loop among the callers.
constexpr const char* ring_done =
    "import sys, time, ctypes\n"
    "def ring_done():\n"
    "    frame = sys._getframe()\n"
    "    while 'futex' not in frame.f_locals:\n"
    "        frame = frame.f_back\n"
    "    page, futex = frame.f_locals['page'], frame.f_locals['futex']\n"
    "    page.status = 1\n"
    "    page.done = page.ring\n"
    "    futex(ctypes.addressof(page) + 12, 1, 1)\n";

TEST_F(HostHackTest, AnEarlyDoneHasNoOutputs) {
  const Verdict v =
      verdict(model_new(std::string("ring_done(); time.sleep(0.3); ") + honest_forward, ring_done));
  EXPECT_THAT(v.outcome, AnyOf(Eq(VerdictClass::wrong), Eq(VerdictClass::nonfinite))) << v.feedback;
}

TEST_F(HostHackTest, NoProcessStaysBehind) {
  for (const char* attempt :
       {"os.fork()", "subprocess.Popen(['/bin/sleep', '60'])",
        "os.posix_spawn('/bin/sleep', ['sleep', '60'], {})", "os.execv('/bin/true', ['true'])"}) {
    const Verdict v =
        verdict(model_new(std::string(attempt) + "; return x", "import os, subprocess\n"));
    EXPECT_EQ(v.outcome, VerdictClass::launch_error) << attempt << ": " << v.feedback;
    EXPECT_THAT(v.feedback, HasSubstr("Operation not permitted")) << attempt;
  }
  EXPECT_EQ(verdict(model_new(honest_forward)).outcome, VerdictClass::passed);
}

TEST_F(HostHackTest, NoProcessStaysBehindWhileItLoads) {
  const Verdict v = verdict("import os\nos.fork()\n" + model_new(honest_forward));
  EXPECT_EQ(v.outcome, VerdictClass::launch_error) << v.feedback;
}

TEST_F(HostHackTest, ItsFilesAndMappingsHoldNoSecret) {
  const Verdict v = verdict(model_new(
      "names = ['/inductor', '/home', '/etc/passwd', '/facts']; "
      "found = [n for n in names if os.path.exists(n)]; maps = open('/proc/self/maps').read(); "
      "raise RuntimeError(f'{found} references {\"references\" in maps} inputs '"
      " f'{maps.count(\"memfd:inputs\")} sockets {stat.S_ISSOCK(os.fstat(3).st_mode) if "
      "os.path.exists(\"/proc/self/fd/3\") else False}')",
      "import os, stat\n"));
  EXPECT_THAT(v.feedback, HasSubstr("[] references False inputs 1 sockets False"));
}

TEST_F(HostHackTest, APrintedVerdictIsNoVerdict) {
  const Verdict v =
      verdict(model_new("text = b'{\"outcome\": \"passed\", \"ok\": true}'\n"
                        "        for fd in range(3, 32):\n"
                        "            try: os.write(fd, text)\n"
                        "            except OSError: pass\n"
                        "        print(text)\n"
                        "        return torch.zeros_like(x)",
                        "import os\n"));
  // It wrote to the control page too, which harms only the candidate.
  EXPECT_FALSE(v.correct()) << v.feedback;
}

TEST_F(HostHackTest, SocketsAreRefused) {
  const Verdict v = verdict(model_new("socket.socket(); return x", "import socket\n"));
  EXPECT_EQ(v.outcome, VerdictClass::launch_error);
  EXPECT_THAT(v.feedback, HasSubstr("PermissionError"));
}

TEST_F(HostHackTest, AnInputsMappingCannotBeMadeWritable) {
  const Verdict v =
      verdict(model_new("libc = ctypes.CDLL(None, use_errno=True); page = x.data_ptr() & ~4095; "
                        "code = libc.mprotect(ctypes.c_void_p(page), 4096, 3); "
                        "raise RuntimeError(f'mprotect {code} errno {ctypes.get_errno()}')",
                        "import ctypes\n"));
  EXPECT_THAT(v.feedback, HasSubstr("mprotect -1 errno 13"));
}

TEST_F(HostHackTest, ItsOwnClockIsNotUsed) {
  const std::string hack =
      model_new(honest_forward,
                "import time\n"
                "time.perf_counter = time.monotonic = time.time = lambda: 0.0\n"
                "torch.Tensor.copy_ = lambda self, other: self\n");
  const Verdict v = verdict(hack);
  EXPECT_EQ(v.outcome, VerdictClass::nonfinite) << v.feedback;
}

}  // namespace
}  // namespace warpsmith::sandbox
