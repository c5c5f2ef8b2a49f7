// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/units.hpp"

#include <gtest/gtest.h>

#include "runtime/random_stream.hpp"

namespace warpsmith {
namespace {

using std::chrono::milliseconds;

TEST(UnitsTest, DurationsTakeOneOrMoreUnits) {
  EXPECT_EQ(parse_duration("30s"), milliseconds{30'000});
  EXPECT_EQ(parse_duration("250ms"), milliseconds{250});
  EXPECT_EQ(parse_duration("1h30m"), milliseconds{5'400'000});
  EXPECT_EQ(parse_duration("0.5s"), milliseconds{500});
}

TEST(UnitsTest, DurationsWithoutAUnitOrWithAnUnknownOneAreRejected) {
  for (const char* text :
       {"", "30", "s", "30 s", "-1s", "1s2", "3 weeks", "nan", "1e400d", "infs"}) {
    EXPECT_FALSE(parse_duration(text).has_value()) << text;
  }
}

TEST(UnitsTest, SizesArePowersOf1024) {
  EXPECT_EQ(parse_bytes("64MiB"), int64_t{64} << 20);
  EXPECT_EQ(parse_bytes("1.5KiB"), 1536);
  EXPECT_EQ(parse_bytes("7B"), 7);
  EXPECT_FALSE(parse_bytes("64MB").has_value());
  EXPECT_FALSE(parse_bytes("99999999999TiB").has_value());
}

TEST(UnitsTest, FormattedValuesReadBackUnchanged) {
  RandomStream stream(1, "units");
  for (int i = 0; i < 2000; ++i) {
    const auto value = static_cast<int64_t>(stream.below(uint64_t{1} << stream.below(50)));
    EXPECT_EQ(parse_bytes(format_bytes(value)), value);
    EXPECT_EQ(parse_duration(format_duration(milliseconds{value})), milliseconds{value});
  }
}

}  // namespace
}  // namespace warpsmith
