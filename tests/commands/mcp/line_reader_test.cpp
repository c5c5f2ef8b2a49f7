// SPDX-License-Identifier: Apache-2.0
#include "commands/mcp/line_reader.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace warpsmith::commands {
namespace {

class LineReaderTest : public testing::Test {
 protected:
  ~LineReaderTest() override {
    ::close(ends_[0]);
    close_writer();
  }
  void write(const std::string& text) {
    EXPECT_EQ(::write(ends_[1], text.data(), text.size()), std::ssize(text));
  }
  void close_writer() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }
  /// The next result that is not `nothing`, or `nothing` if no input waits.
  LineReader::Got next() {
    for (int tries = 0; tries < 4; ++tries) {
      const auto got = reader().next(line_, std::chrono::milliseconds{0});
      if (got != LineReader::Got::nothing) return got;
    }
    return LineReader::Got::nothing;
  }
  LineReader& reader() { return reader_; }

  static std::array<int, 2> open_pipe() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::pipe(ends.data()), 0);
    return ends;
  }

  std::array<int, 2> ends_ = open_pipe();
  std::string line_;

 private:
  LineReader reader_{ends_[0], 8};
};

TEST_F(LineReaderTest, LinesAreCutAtNewlines) {
  write("one\r\ntwo\nthr");
  EXPECT_EQ(next(), LineReader::Got::line);
  EXPECT_EQ(line_, "one");
  EXPECT_EQ(next(), LineReader::Got::line);
  EXPECT_EQ(line_, "two");
  EXPECT_EQ(next(), LineReader::Got::nothing);
  write("ee\n");
  EXPECT_EQ(next(), LineReader::Got::line);
  EXPECT_EQ(line_, "three");
}

TEST_F(LineReaderTest, ALongLineIsSkippedWhole) {
  write("0123456789\nok\n0123456789");
  EXPECT_EQ(next(), LineReader::Got::too_long);
  EXPECT_EQ(next(), LineReader::Got::line);
  EXPECT_EQ(line_, "ok");
  EXPECT_EQ(next(), LineReader::Got::nothing);
  write("tail\nok\n");
  EXPECT_EQ(next(), LineReader::Got::too_long);
  EXPECT_EQ(next(), LineReader::Got::line);
  EXPECT_EQ(line_, "ok");
}

TEST_F(LineReaderTest, TheEndIsReported) {
  write("half");
  close_writer();
  EXPECT_EQ(next(), LineReader::Got::end);
}

}  // namespace
}  // namespace warpsmith::commands
