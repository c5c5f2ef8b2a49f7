// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/server_metrics.hpp"

#include <sstream>

namespace warpsmith::commands {
namespace {

double in_seconds(std::chrono::nanoseconds span) {
  return std::chrono::duration<double>(span).count();
}

class PrometheusText {
 public:
  template <class T>
  void add(const std::string& name, const std::string& type, const std::string& help, T value) {
    head(name, type, help);
    out_ << "warpsmith_" << name << ' ' << value << '\n';
  }
  void head(const std::string& name, const std::string& type, const std::string& help) {
    out_ << "# HELP warpsmith_" << name << ' ' << help << "\n# TYPE warpsmith_" << name << ' '
         << type << '\n';
  }
  std::ostringstream& out() { return out_; }
  std::string text() const { return out_.str(); }

 private:
  std::ostringstream out_;
};

void add_summary(PrometheusText& text, const std::string& name, const std::string& help, double sum,
                 uint64_t count) {
  text.head(name, "summary", help);
  text.out() << "warpsmith_" << name << "_sum " << sum << "\nwarpsmith_" << name << "_count "
             << count << '\n';
}

void add_loop(PrometheusText& text, const LoopStatus& loop) {
  text.add("running_sequences", "gauge", "Sequences in the engine.", loop.running);
  text.add("waiting_sequences", "gauge", "Sequences that wait for a slot.", loop.waiting);
  text.add("engine_steps_total", "counter", "Steps of the engine.", loop.steps);
  text.add("engine_sampled_tokens_total", "counter",
           "Tokens that the engine sampled, those of cancelled requests included.",
           loop.engine.sampled_tokens);
  text.add("engine_reused_tokens_total", "counter", "Prompt tokens taken from earlier prompts.",
           loop.engine.reused_tokens);
  text.add("engine_evicted_sequences_total", "counter",
           "Times that a sequence lost its cache to another.", loop.engine.evicted_sequences);
  text.add("cache_blocks", "gauge", "Blocks of keys and values in use.", loop.engine.cached_blocks);
  text.add("cache_blocks_limit", "gauge", "Blocks of keys and values in all.",
           loop.engine.total_blocks);
}

}  // namespace

void ServerMetrics::count_request(const std::string& endpoint, int status,
                                  std::chrono::nanoseconds took) {
  const std::lock_guard lock(mutex_);
  ++requests_[{endpoint, status}];
  took_.seconds += in_seconds(took);
  ++took_.count;
}

void ServerMetrics::count_first_token(std::chrono::nanoseconds after) {
  const std::lock_guard lock(mutex_);
  first_token_.seconds += in_seconds(after);
  ++first_token_.count;
}

void ServerMetrics::count_tokens(int64_t prompt, int64_t completion) {
  const std::lock_guard lock(mutex_);
  prompt_tokens_ += static_cast<uint64_t>(prompt);
  completion_tokens_ += static_cast<uint64_t>(completion);
}

void ServerMetrics::count_cancelled() {
  const std::lock_guard lock(mutex_);
  ++cancelled_;
}

std::string ServerMetrics::text(const LoopStatus& loop) const {
  PrometheusText text;
  {
    const std::lock_guard lock(mutex_);
    text.head("requests_total", "counter", "Answered requests by endpoint and status.");
    for (const auto& [key, count] : requests_) {
      text.out() << "warpsmith_requests_total{endpoint=\"" << key.first << "\",code=\""
                 << key.second << "\"} " << count << '\n';
    }
    text.add("cancelled_requests_total", "counter", "Requests whose client left.", cancelled_);
    text.add("prompt_tokens_total", "counter", "Tokens of prompts.", prompt_tokens_);
    text.add("completion_tokens_total", "counter", "Tokens of answers.", completion_tokens_);
    add_summary(text, "request_seconds", "Time from a request to the end of its answer.",
                took_.seconds, took_.count);
    add_summary(text, "first_token_seconds", "Time from a request to its first token.",
                first_token_.seconds, first_token_.count);
  }
  add_loop(text, loop);
  return text.text();
}

}  // namespace warpsmith::commands
