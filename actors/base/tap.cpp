// SPDX-License-Identifier: Apache-2.0
#include "actors/base/tap.hpp"

#include <cinttypes>
#include <cstdio>
#include <map>
#include <mutex>

namespace warpsmith::actors {
namespace {

class SilentTap : public Tap {
 public:
  void delivered(const Delivery& /*delivery*/) override {}
};

using Microseconds = std::chrono::duration<double, std::micro>;

struct FileCloser {
  void operator()(std::FILE* file) const { (void)std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

/// A JSON array with one event per line. The format allows the closing bracket to be missing, so
/// the file of a killed process can be opened. Labels and handler names are identifiers, so they
/// need no escaping.
class TraceTap : public Tap {
 public:
  TraceTap(File file, uint64_t most_events) : file_(std::move(file)), left_(most_events) {
    // Line-buffered, so that a killed process leaves whole events.
    (void)std::setvbuf(file_.get(), nullptr, _IOLBF, 1 << 16);
    (void)std::fputs("[\n", file_.get());
  }
  ~TraceTap() override {
    // Ends the array with an event that no comma follows.
    (void)std::fputs(R"({"name":"end","ph":"i","s":"g","ts":0,"pid":1,"tid":0})", file_.get());
    (void)std::fputs("\n]\n", file_.get());
  }

  void delivered(const Delivery& /*delivery*/) override {}

  void handled(const Delivery& d, const HandlerTime& time) override {
    const std::scoped_lock lock{mutex_};
    if (left_ == 0) return;
    const Microseconds at = time.begin - start_;
    (void)std::fprintf(file_.get(),
                       R"({"name":"%.*s","cat":"message","ph":"X","ts":%.3f,"dur":%.3f,"pid":1,)"
                       R"("tid":%u,"args":{"number":%)" PRIu64 R"(,"sender":%)" PRIu64 "}},\n",
                       static_cast<int>(d.handler.size()), d.handler.data(), at.count(),
                       Microseconds{time.took}.count(), thread_of(d.actor), d.number, d.sender);
    if (--left_ == 0) write_stop(at);
  }

 private:
  /// The actor's number; writes its name before its first event.
  unsigned thread_of(std::string_view actor) {
    const auto [found, is_new] = threads_.try_emplace(std::string{actor}, threads_.size() + 1);
    if (is_new) {
      (void)std::fprintf(file_.get(),
                         R"({"name":"thread_name","ph":"M","pid":1,"tid":%u,"args":{"name":"%s"}},)"
                         "\n",
                         found->second, found->first.c_str());
    }
    return found->second;
  }

  void write_stop(Microseconds at) {
    (void)std::fprintf(file_.get(),
                       R"({"name":"the trace is full and stops here","ph":"i","s":"g",)"
                       R"("ts":%.3f,"pid":1,"tid":0},)"
                       "\n",
                       at.count());
    (void)std::fflush(file_.get());
  }

  std::mutex mutex_;
  File file_;
  uint64_t left_;  // events that may still be written
  std::map<std::string, unsigned> threads_;
  SteadyClock::time_point start_ = SteadyClock::now();
};

}  // namespace

std::unique_ptr<Tap> make_silent_tap() {
  return std::make_unique<SilentTap>();
}

Result<std::unique_ptr<Tap>> make_trace_tap(const std::string& path, uint64_t most_events) {
  File file{std::fopen(path.c_str(), "we")};
  if (!file) return fail(ErrorCode::io_failed, path + ": cannot be opened for the trace");
  return std::make_unique<TraceTap>(std::move(file), most_events);
}

}  // namespace warpsmith::actors
