// SPDX-License-Identifier: Apache-2.0
// The jailed Python worker: refusals name the place; crashes and hangs are noticed.
#include "sandbox/reference/worker.hpp"
#include "runtime/device/lease.hpp"
#include "runtime/environment.hpp"

#include "support.hpp"

namespace warpsmith::sandbox::test {
namespace {

class ReferenceWorkerTest : public WorkerFixture {
 protected:
  static std::string refusal(const std::string& code) {
    auto loaded = worker->load(task_of("t", code), Deadline::after(seconds(60)));
    if (loaded) return "accepted";
    EXPECT_EQ(loaded.error().code, ErrorCode::invalid_argument);
    return loaded.error().message;
  }
};

TEST_F(ReferenceWorkerTest, DescribesInputsParametersAndOutputsInOrder) {
  auto task = worker->load(task_of("t", simple_code("return x * self.weight + self.bias")),
                           Deadline::after(seconds(60)));
  ASSERT_TRUE(task) << task.error().message;
  ASSERT_EQ(task->signature.tensors.size(), 4U);
  EXPECT_EQ(task->signature.tensors[0].name, "x");
  EXPECT_EQ(task->signature.tensors[1].name, "weight");
  EXPECT_EQ(task->signature.tensors[2].name, "bias");
  EXPECT_EQ(task->signature.tensors[3].role, TensorRole::output);
  EXPECT_EQ(task->signature.dims, (std::vector<int64_t>{512, 256}));
  EXPECT_EQ(task->values[2].deviation, 0.0);
  EXPECT_GT(task->flops, 2 * 512 * 256 - 1);
}

TEST_F(ReferenceWorkerTest, EveryTensorHasAUniqueName) {
  std::string code = simple_code("return weight * self.weight + d1 * self.y.weight");
  const auto put = [&](const std::string& from, const std::string& to) {
    code.replace(code.find(from), from.size(), to);
  };
  put("self, x", "self, weight, d1");
  put("        self.bias = nn.Parameter(torch.zeros(256))\n",
      "        self.y = nn.Linear(256, 1, bias=False)\n");
  put("[torch.randn(512, 256)]", "[torch.randn(512, 256), torch.randn(512, 256)]");
  auto task = worker->load(task_of("t", code), Deadline::after(seconds(60)));
  ASSERT_TRUE(task) << task.error().message;
  std::vector<std::string> names;
  for (const TensorSpec& tensor : task->signature.tensors) names.push_back(tensor.name);
  EXPECT_EQ(names, (std::vector<std::string>{"weight", "d1_2", "weight_2", "y.weight", "y"}));
}

TEST_F(ReferenceWorkerTest, DescribesArgumentsThatAreNoTensors) {
  std::string code = simple_code("return x * s if mask is None else x");
  const auto put = [&](const std::string& from, const std::string& to) {
    code.replace(code.find(from), from.size(), to);
  };
  put("self, x", "self, x, s, mask=None");
  put("[torch.randn(512, 256)]", "[torch.randn(512, 256), 0.5, None]");
  auto task = worker->load(task_of("t", code), Deadline::after(seconds(60)));
  ASSERT_TRUE(task) << task.error().message;
  const auto& constants = task->signature.constants;
  ASSERT_EQ(constants.size(), 2U);
  EXPECT_EQ(constants[0].name + " = " + constants[0].value, "s = 0.5");
  EXPECT_EQ(constants[1].name + " = " + constants[1].value, "mask = None");
}

TEST_F(ReferenceWorkerTest, RefusesATaskWithoutModel) {
  EXPECT_EQ(refusal("def get_inputs(): return []\ndef get_init_inputs(): return []\n"),
            "the task defines no Model");
}

TEST_F(ReferenceWorkerTest, NamesThePlaceOfAnException) {
  EXPECT_THAT(refusal("x = 1 / 0\n"), testing::StartsWith("the task's text raised ZeroDivision"));
  EXPECT_THAT(refusal(simple_code("raise SystemExit(0)")),
              testing::StartsWith("forward raised SystemExit"));
}

TEST_F(ReferenceWorkerTest, RefusesRandomAndInputChangingTasks) {
  EXPECT_THAT(refusal(simple_code("return torch.nn.functional.dropout(x)")),
              testing::HasSubstr("random"));
  EXPECT_THAT(refusal(simple_code("return x.mul_(2)")), testing::HasSubstr("changes its input"));
}

TEST_F(ReferenceWorkerTest, SurvivesATaskThatFloodsItsOutput) {
  const std::string flood = "import sys\nfor _ in range(2000): print('x' * 500000)\n";
  EXPECT_EQ(refusal(flood), "the task defines no Model");
  EXPECT_TRUE(worker->alive());
}

TEST_F(ReferenceWorkerTest, ATaskThatHangsMeetsTheDeadline) {
  TemporaryFolder own;
  auto hung = ReferenceWorker::start(worker_options(own.path()), Deadline::after(seconds(120)));
  ASSERT_TRUE(hung) << hung.error().message;
  auto loaded = hung->load(task_of("t", "while True: pass\n"), Deadline::after(seconds(1)));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::timeout);
}

TEST_F(ReferenceWorkerTest, ATaskThatKillsTheWorkerIsNoticed) {
  TemporaryFolder own;
  auto lost = ReferenceWorker::start(worker_options(own.path()), Deadline::after(seconds(120)));
  ASSERT_TRUE(lost) << lost.error().message;
  auto loaded = lost->load(task_of("t", "import os\nos._exit(3)\n"), Deadline::after(seconds(60)));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::peer_lost);
}

TEST_F(ReferenceWorkerTest, ATaskThatLeavesAThreadIsRefusedAndTheWorkerEnds) {
  const TemporaryFolder own;
  auto other = ReferenceWorker::start(worker_options(own.path()), Deadline::after(seconds(120)));
  ASSERT_TRUE(other) << other.error().message;
  const auto with_thread = [](const std::string& start) {
    return task_of("t", "import threading, time\n" + start + simple_code("return x * self.weight"));
  };
  // The thread ends when the worker first waits for it.
  const std::string ends_at_the_first_wait =
      "def begin(sleep):\n"
      "    ended = threading.Event()\n"
      "    own = threading.Thread(target=ended.wait, daemon=True)\n"
      "    def end(seconds):\n"
      "        time.sleep = sleep\n"
      "        ended.set()\n"
      "        own.join()\n"
      "    time.sleep = end\n"
      "    own.start()\n"
      "begin(time.sleep)\n";
  const std::string never_ends =
      "threading.Thread(target=lambda: exec('while True: pass'), daemon=True).start()\n";
  const auto brief = other->load(with_thread(ends_at_the_first_wait), Deadline::after(seconds(60)));
  EXPECT_TRUE(brief) << brief.error().message;
  EXPECT_TRUE(other->alive());
  const auto busy = other->load(with_thread(never_ends), Deadline::after(seconds(60)));
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(busy.error().message, "threads that it started outlive its calls");
  EXPECT_FALSE(other->alive());
}

TEST_F(ReferenceWorkerTest, TakesTurnsOnADeviceUntilItEnds) {
  const TemporaryFolder own;
  const std::string place = own.path();
  const auto is_free = [&] {
    return DeviceLease::acquire(place, "gpu", Deadline::after(seconds(1))).has_value();
  };
  auto lock = open_lease(place, "gpu");
  ASSERT_TRUE(lock) << lock.error().message;
  {
    WorkerOptions options = worker_options(place);
    options.turns = lock->get();
    auto other = ReferenceWorker::start(options, Deadline::after(seconds(120)));
    ASSERT_TRUE(other) << other.error().message;
    lock->reset();
    EXPECT_TRUE(is_free());
    const Task taker = task_of("t", "import fcntl\nfcntl.flock(4, fcntl.LOCK_EX)\n");
    EXPECT_FALSE(other->load(taker, Deadline::after(seconds(60)))) << "it is no task";
    EXPECT_FALSE(is_free());
  }
  EXPECT_TRUE(is_free());
}

}  // namespace
}  // namespace warpsmith::sandbox::test
