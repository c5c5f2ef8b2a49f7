// SPDX-License-Identifier: Apache-2.0
// Frames and leases have the same meaning for a Python worker and for this program.
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "runtime/device/lease.hpp"
#include "runtime/environment.hpp"
#include "runtime/process/child.hpp"
#include "runtime/process/frame_socket.hpp"
#include "runtime/process/memory_file.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith {
namespace {

using Json = nlohmann::json;

constexpr const char* worker = R"(
import os, sys
sys.path.append("runtime/python")
from frames import Peer
from leases import Lease, opened
peer = Peer(3)
lease = Lease(opened(sys.argv[1]))
while True:
    request = peer.receive()
    if "files" in request:
        peer.send([os.fstat(file).st_size for file in peer.descriptors(request["files"])])
    elif "call" in request:
        peer.send(getattr(lease, request["call"])())
    else:
        peer.send(request)
)";

class PythonWorkerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto ends = FrameSocket::pair().value();
    ChildSpec spec;
    spec.argv = {python_interpreter().string(),        "-I", "-S", "-B", "-c", worker,
                 (folder.path() / "gpu.lock").string()};
    spec.descriptors = {{3, ends.second.fd()}};
    auto started = Child::start(spec);
    ASSERT_TRUE(started) << started.error().message;
    child.emplace(std::move(*started));
    socket.emplace(std::move(ends.first));
  }

  static Deadline in_time() { return Deadline::after(std::chrono::minutes{2}); }
  static Deadline at_once() { return Deadline::after(std::chrono::milliseconds{20}); }

  Json answer() {
    const ByteBuffer frame = socket->receive(in_time()).value();
    return Json::parse(frame.begin(), frame.end());
  }
  Json ask(const Json& request) {
    const std::string text = request.dump();
    EXPECT_TRUE(socket->send({text.begin(), text.end()}, in_time()));
    return answer();
  }
  bool call(const char* name) { return ask({{"call", name}}) == true; }

  const test_support::TemporaryFolder folder;
  const std::string place = folder.path().string();
  std::optional<FrameSocket> socket;
  std::optional<Child> child;
};

TEST_F(PythonWorkerTest, AnswersLongAndNonAsciiTexts) {
  const Json request{{"text", std::string(3U << 20U, 'x') + "ä\n\"雪\0"},
                     {"list", {1, -2.5, nullptr}}};
  EXPECT_EQ(ask(request), request);
}

TEST_F(PythonWorkerTest, ReceivesDescriptors) {
  const auto one = MemoryFile::create("one", 4096).value(),
             two = MemoryFile::create("two", 8192).value();
  const std::string text = R"({"files": 2})";
  ASSERT_TRUE(socket->send({text.begin(), text.end()}, in_time()));
  ASSERT_TRUE(socket->send_descriptors({one.fd(), two.fd()}, in_time()));
  EXPECT_EQ(answer(), (Json{4096, 8192}));
}

TEST_F(PythonWorkerTest, EndsOnAMalformedFrame) {
  ASSERT_EQ(::write(socket->fd(), "GET / HTTP/1.1\r\n", 16), 16);
  const ChildExit end = child->wait(in_time());
  EXPECT_EQ(end.exit_code, 1);
  EXPECT_NE(end.err.find("frame: magic 0x20544547"), std::string::npos) << end.err;
}

TEST_F(PythonWorkerTest, SharesADeviceForWorkButNotForMeasurements) {
  auto share = DeviceShare::open(place, "gpu").value();
  ASSERT_TRUE(share.try_hold());
  EXPECT_TRUE(call("try_share"));
  EXPECT_FALSE(DeviceLease::acquire(place, "gpu", at_once()));
  share.give_back();
  EXPECT_FALSE(DeviceLease::acquire(place, "gpu", at_once()));
  call("end");
  {
    const auto lease = DeviceLease::acquire(place, "gpu", at_once());
    ASSERT_TRUE(lease);
    EXPECT_TRUE(call("is_wanted"));
    EXPECT_FALSE(call("try_share") || call("try_alone"));
    call("end");
  }
  EXPECT_TRUE(call("try_alone"));
  EXPECT_FALSE(share.try_hold());
  EXPECT_FALSE(DeviceLease::acquire(place, "gpu", at_once()));
}

TEST_F(PythonWorkerTest, AWaitingMeasurementHasPriorityOverWorkOnEitherSide) {
  auto share = DeviceShare::open(place, "gpu").value();
  ASSERT_TRUE(share.try_hold());
  EXPECT_FALSE(call("try_alone"));
  EXPECT_TRUE(share.is_wanted());
  share.give_back();
  EXPECT_FALSE(share.try_hold());
  EXPECT_TRUE(call("try_alone"));
  call("end");
  ASSERT_TRUE(call("try_share"));
  bool held = false;
  std::thread waiter([&] { held = DeviceLease::acquire(place, "gpu", in_time()).has_value(); });
  while (!call("is_wanted")) std::this_thread::yield();
  call("end");
  waiter.join();
  EXPECT_TRUE(held);
}

TEST_F(PythonWorkerTest, WorkThatHasWaitedLongHasPriorityOverNewMeasurements) {
  auto share = DeviceShare::open(place, "gpu").value();
  ASSERT_TRUE(call("try_alone"));
  const Deadline due = Deadline::after(2 * DeviceShare::patience);
  while (!due.passed()) ASSERT_FALSE(share.try_hold());
  call("end");
  EXPECT_FALSE(call("try_alone"));
  EXPECT_TRUE(share.try_hold());
  share.give_back();

  std::optional<DeviceLease> lease = DeviceLease::acquire(place, "gpu", at_once()).value();
  EXPECT_FALSE(call("try_share"));
  std::this_thread::sleep_for(2 * DeviceShare::patience);
  EXPECT_FALSE(call("try_share"));
  lease.reset();
  std::thread waiter([&] { lease = DeviceLease::acquire(place, "gpu", in_time()).value(); });
  EXPECT_TRUE(call("try_share"));
  call("end");
  waiter.join();
}

}  // namespace
}  // namespace warpsmith
