// SPDX-License-Identifier: Apache-2.0
// Answers that are late, that fail in the middle, or whose client leaves.
#include "commands/serve/serve_api.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "commands/serve/served_model.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::commands {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;

/// Samples one token of each sequence that it gets at first; then its device breaks.
class OneBatchBackend final : public policy::Backend {
 public:
  int64_t vocab() const override { return 4096; }
  bool runs_ahead() const override { return false; }
  void adopt(const policy::ModelWeights& /*weights*/) override {}
  void start(std::span<const policy::DecodeRow> rows) override {
    if (sampled_ > 0) throw std::runtime_error("the device is lost");
    sampled_ = std::ranges::count_if(rows, [](const auto& row) { return row.sample != nullptr; });
  }
  std::vector<policy::SampledToken> finish() override {
    return std::vector<policy::SampledToken>(static_cast<size_t>(sampled_), {.token = 65});
  }

 private:
  int64_t sampled_ = 0;
};

class ServeApiTest : public testing::Test {
 protected:
  static const ServedModel& model() {
    static const ServedModel loaded = load_served_model({.folder = "configs/policy/tiny",
                                                         .chat_template = "chatml",
                                                         .tool_syntax = "xml",
                                                         .cache_tokens = 2048,
                                                         .sessions = 1})
                                          .value();
    return loaded;
  }
  /// A loop of one slot and one place in the queue that pauses while `measuring_` exists.
  std::unique_ptr<EngineLoop> standing_loop() {
    const SharedGpu shared{.device = "gpu", .folder = leases_.path().string()};
    auto loop = EngineLoop::start(engine_maker(model()), {.sessions = 1, .queue = 1}, shared);
    measuring_ =
        DeviceLease::acquire(shared.folder, shared.device, Deadline::after(seconds{120})).value();
    return std::move(loop.value());
  }
  static std::unique_ptr<EngineLoop> breaking_loop() {
    const auto make = [] {
      auto engine = policy::Engine::make(std::make_unique<OneBatchBackend>(), {});
      (*engine)->load({}, policy::ModelWeights{});
      return engine;
    };
    return EngineLoop::start(make, {}).value();
  }
  static ServedRequest post(const std::string& more, bool client_stays = true) {
    return {.method = "POST",
            .path = "/v1/completions",
            .body = R"({"model": "tiny", "prompt": "x", "max_tokens": 9, "ignore_eos": true)" +
                    more + "}",
            .headers = {{"content-type", "application/json"}},
            .is_open = [client_stays] { return client_stays; }};
  }
  static std::string events_of(const HttpResponse& response) {
    std::string events;
    const auto write = [&](std::string_view text) {
      events += text;
      return true;
    };
    EXPECT_TRUE(response.stream({write, [] { return true; }}));
    return events;
  }

  test_support::TemporaryFolder leases_;
  std::optional<DeviceLease> measuring_;
};

TEST_F(ServeApiTest, AnAnswerThatIsLateEndsAtTheRequestTimeout) {
  const auto loop = standing_loop();
  ServeApi api(model().text, {.request_budget = seconds{1}}, *loop);
  const auto late = AllOf(HasSubstr("--request-timeout"), HasSubstr(R"("code":"timeout")"));
  const HttpResponse whole = api.handle(post(""));
  EXPECT_EQ(whole.status, 503);
  EXPECT_THAT(whole.body, late);
  const HttpResponse stream = api.handle(post(R"(, "stream": true)"));
  EXPECT_EQ(stream.status, 200);
  EXPECT_THAT(events_of(stream), late);
}

TEST_F(ServeApiTest, TheCaseOfMediaTypesAndSchemesDoesNotMatter) {
  const auto loop = breaking_loop();
  ServeApi api(model().text, {.token = "Secret"}, *loop);
  const auto status = [&](const std::string& type, const std::string& authorization) {
    ServedRequest request = post("");
    request.body = "{";
    request.headers = {{"content-type", type}, {"authorization", authorization}};
    return api.handle(request).status;
  };
  EXPECT_EQ(status("Application/JSON;charset=utf-8", "bearer Secret"), 400);
  EXPECT_EQ(status("application/json", "BEARER  Secret"), 400);
  EXPECT_EQ(status("application/jsonx", "Bearer Secret"), 415);
  for (const char* wrong : {"Bearer secret", "Bearer", "Basic Secret", "Secret", "Bearer "}) {
    EXPECT_EQ(status("application/json", wrong), 401) << wrong;
  }
}

TEST_F(ServeApiTest, AQueuedClientThatLeavesAWholeAnswerFreesItsPlace) {
  const auto loop = standing_loop();
  ServeApi api(model().text, {.request_budget = seconds{10}}, *loop);
  const policy::EngineRequest other{.whole = true, .new_tokens = {1, 2, 3}};
  const auto running = loop->submit({other}).value();
  EXPECT_EQ(api.handle(post("", /*client_stays=*/false)).status, 499);
  EXPECT_TRUE(loop->submit({other}));
}

TEST_F(ServeApiTest, AnEngineThatFailsAfterATokenIsAnErrorOfAWholeAnswer) {
  const auto loop = breaking_loop();
  ServeApi api(model().text, {}, *loop);
  const HttpResponse whole = api.handle(post(""));
  EXPECT_EQ(whole.status, 503);
  EXPECT_FALSE(whole.stream);
  EXPECT_THAT(whole.body, HasSubstr("the device is lost"));
  EXPECT_EQ(whole.headers.count("Retry-After"), 1U);
  EXPECT_THAT(api.handle({.method = "GET", .path = "/metrics"}).body,
              AllOf(HasSubstr(R"(endpoint="/v1/completions",code="503"} 1)"),
                    HasSubstr("completion_tokens_total 1\n")));
}

TEST_F(ServeApiTest, AnEngineThatFailsAfterATokenEndsAStreamWithAnEvent) {
  const auto loop = breaking_loop();
  ServeApi api(model().text, {}, *loop);
  const HttpResponse stream = api.handle(post(R"(, "stream": true)"));
  EXPECT_EQ(stream.status, 200);
  EXPECT_THAT(events_of(stream), HasSubstr("the device is lost"));
}

}  // namespace
}  // namespace warpsmith::commands
