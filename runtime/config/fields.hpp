// SPDX-License-Identifier: Apache-2.0
// The single list of a component's fields. `describe(Fields&, XConfig&)` names each field once; a
// reader fills the fields from TOML and a writer prints them, so neither can miss one.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace warpsmith {

/// Both ends are included.
struct IntegerRange {
  int64_t low = std::numeric_limits<int64_t>::min();
  int64_t high = std::numeric_limits<int64_t>::max();
};

/// Both ends are included, except `low` if `above_low` is set.
struct RealRange {
  double low = std::numeric_limits<double>::lowest();
  double high = std::numeric_limits<double>::max();
  bool above_low = false;
};

struct DurationRange {
  std::chrono::milliseconds low{0};
  std::chrono::milliseconds high{std::chrono::hours{24 * 365}};
};

/// One of a fixed set of names, selected by index.
struct Choice {
  std::span<const std::string_view> names;
  size_t current = 0;
  std::function<void(size_t)> set;
};

class Fields {
 public:
  Fields() = default;
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;
  virtual ~Fields() = default;

  virtual void integer(std::string_view key, int64_t& value, IntegerRange range) = 0;
  virtual void real(std::string_view key, double& value, RealRange range) = 0;
  virtual void flag(std::string_view key, bool& value) = 0;
  virtual void text(std::string_view key, std::string& value) = 0;
  /// Each element must be one of `allowed`; an empty `allowed` permits anything.
  virtual void texts(std::string_view key, std::vector<std::string>& value,
                     std::span<const std::string_view> allowed) = 0;
  /// A relative path in a file is relative to that file; in an option, to the working directory.
  virtual void path(std::string_view key, std::filesystem::path& value) = 0;
  virtual void paths(std::string_view key, std::vector<std::filesystem::path>& value) = 0;
  /// "30s", or an integer in milliseconds.
  virtual void duration(std::string_view key, std::chrono::milliseconds& value,
                        DurationRange range) = 0;
  /// "64MiB", or an integer in bytes.
  virtual void bytes(std::string_view key, int64_t& value, IntegerRange range) = 0;
  virtual void choice(std::string_view key, const Choice& choice) = 0;
  /// The key has no default: leaving it out is an error.
  virtual void require(std::string_view key) = 0;
  /// The fields of a sub-table, which may be absent.
  virtual void table(std::string_view key, const std::function<void(Fields&)>& describe) = 0;

  /// An enumeration whose values count from 0 in the order of `names`.
  template <class Enum>
  void choice_of(std::string_view key, Enum& value, std::span<const std::string_view> names) {
    choice(key, {names, static_cast<size_t>(value),
                 [&value](size_t index) { value = static_cast<Enum>(index); }});
  }
};

}  // namespace warpsmith
