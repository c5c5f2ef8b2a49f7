// SPDX-License-Identifier: Apache-2.0
// Writes fields as TOML, in the order of `describe`.
#include <array>
#include <charconv>
#include <utility>

#include "runtime/config/toml.hpp"
#include "runtime/config/units.hpp"

namespace warpsmith {
namespace {

/// The shortest digits that read back as the same number, with a point or an exponent.
std::string show(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  std::string out{text.data(), end};
  return out.find_first_of(".e") == std::string::npos ? out + ".0" : out;
}

std::string show_path(const std::filesystem::path& path) {
  if (path.empty()) return quote_toml("");
  return quote_toml(std::filesystem::absolute(path).lexically_normal().string());
}

template <class Element, class Show>
std::string show_list(const std::vector<Element>& elements, Show show_element) {
  std::string out = "[";
  for (size_t i = 0; i < elements.size(); ++i) {
    out += (i == 0 ? "" : ", ") + show_element(elements[i]);
  }
  return out + "]";
}

class Writer final : public Fields {
 public:
  explicit Writer(std::string name = "") : name_(std::move(name)) {}

  void integer(std::string_view key, int64_t& value, IntegerRange) override {
    line(key, std::to_string(value));
  }
  void real(std::string_view key, double& value, RealRange) override { line(key, show(value)); }
  void flag(std::string_view key, bool& value) override { line(key, value ? "true" : "false"); }
  void text(std::string_view key, std::string& value) override { line(key, quote_toml(value)); }
  void texts(std::string_view key, std::vector<std::string>& value,
             std::span<const std::string_view>) override {
    line(key, show_list(value, quote_toml));
  }
  void path(std::string_view key, std::filesystem::path& value) override {
    line(key, show_path(value));
  }
  void paths(std::string_view key, std::vector<std::filesystem::path>& value) override {
    line(key, show_list(value, show_path));
  }
  void duration(std::string_view key, std::chrono::milliseconds& value, DurationRange) override {
    line(key, quote_toml(format_duration(value)));
  }
  void bytes(std::string_view key, int64_t& value, IntegerRange) override {
    line(key, quote_toml(format_bytes(value)));
  }
  void choice(std::string_view key, const Choice& choice) override {
    line(key, quote_toml(choice.names[choice.current]));
  }
  void require(std::string_view) override {}
  void table(std::string_view key, const std::function<void(Fields&)>& describe) override {
    Writer inner{name_.empty() ? std::string{key} : name_ + "." + std::string{key}};
    describe(inner);
    tables_ += inner.document();
  }

  /// Writes the table's own keys first, then its sub-tables, as TOML requires.
  std::string document() const {
    if (name_.empty()) return keys_ + tables_;
    return (keys_.empty() ? "" : "[" + name_ + "]\n" + keys_ + "\n") + tables_;
  }

 private:
  void line(std::string_view key, const std::string& value) {
    keys_ += std::string{key} + " = " + value + "\n";
  }

  std::string name_;
  std::string keys_;
  std::string tables_;
};

}  // namespace

std::string quote_toml(std::string_view text) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\u00";
      out += digits[byte >> 4U];
      out += digits[byte & 15U];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string write_toml(const Describe& describe) {
  Writer writer;
  describe(writer);
  std::string text = writer.document();
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

}  // namespace warpsmith
