// SPDX-License-Identifier: Apache-2.0
#include "actors/tap.hpp"

#include <chrono>
#include <cstdio>
#include <mutex>

namespace warpsmith::actors {
namespace {

class SilentTap : public Tap {
 public:
  void delivered(const Delivery& /*delivery*/) override {}
};

struct FileCloser {
  void operator()(std::FILE* file) const { (void)std::fclose(file); }
};

class LogTap : public Tap {
 public:
  explicit LogTap(std::FILE* file) : file_(file) {}

  void delivered(const Delivery& d) override {
    const auto elapsed = std::chrono::steady_clock::now() - start_;
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(elapsed).count();
    const std::scoped_lock lock{mutex_};
    (void)std::fprintf(file_.get(), "%lld %.*s %llu %.*s %llu\n", static_cast<long long>(us),
                       static_cast<int>(d.actor.size()), d.actor.data(),
                       static_cast<unsigned long long>(d.number),
                       static_cast<int>(d.handler.size()), d.handler.data(),
                       static_cast<unsigned long long>(d.sender));
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<std::FILE, FileCloser> file_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

std::unique_ptr<Tap> make_silent_tap() {
  return std::make_unique<SilentTap>();
}

Result<std::unique_ptr<Tap>> make_log_tap(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "ae");
  if (file == nullptr) return fail(ErrorCode::io_failed, path + ": cannot be opened for the log");
  return std::make_unique<LogTap>(file);
}

}  // namespace warpsmith::actors
