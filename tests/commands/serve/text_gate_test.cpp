// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/text_gate.hpp"

#include <gtest/gtest.h>

namespace warpsmith::commands {
namespace {

TEST(TextGateTest, AMarkerIsFoundAcrossPieces) {
  TextGate gate({"STOP"});
  EXPECT_EQ(gate.add("go S"), "go ");
  EXPECT_EQ(gate.add("T"), "");
  EXPECT_EQ(gate.add("OP and on"), "");
  EXPECT_TRUE(gate.found());
  EXPECT_EQ(gate.held(), "STOP and on");
  EXPECT_EQ(gate.add("more"), "");
}

TEST(TextGateTest, ABegunMarkerThatDoesNotGoOnIsSent) {
  TextGate gate({"STOP"});
  EXPECT_EQ(gate.add("ST"), "");
  EXPECT_EQ(gate.add("ART S"), "START ");
  EXPECT_EQ(gate.flush(), "S");
  EXPECT_FALSE(gate.found());
}

TEST(TextGateTest, OfSeveralMarkersTheFirstInTheTextCounts) {
  TextGate gate({"cd", "bc"});
  EXPECT_EQ(gate.add("abcd"), "a");
  EXPECT_EQ(gate.held(), "bcd");
}

TEST(TextGateTest, ARepeatedBeginningIsNotMissed) {
  TextGate gate({"aab"});
  EXPECT_EQ(gate.add("aa"), "");
  EXPECT_EQ(gate.add("a"), "a");
  EXPECT_EQ(gate.add("b"), "");
  EXPECT_TRUE(gate.found());
}

TEST(TextGateTest, CharactersAreSentWhole) {
  TextGate gate({});
  EXPECT_EQ(gate.add("\xE2\x82"), "");
  EXPECT_EQ(gate.add("\xAC!"), "€!");
  EXPECT_EQ(gate.add("\xF0\x9F\x98"), "");
  EXPECT_EQ(gate.flush(), "\uFFFD") << "a character that was cut";
}

TEST(TextGateTest, BytesThatAreNoTextBecomeReplacementCharacters) {
  TextGate gate({});
  EXPECT_EQ(gate.add("a\xFFz"), "a\uFFFDz");
  EXPECT_EQ(gate.add("\x80\x80"), "\uFFFD\uFFFD");
}

TEST(TextGateTest, AMarkerInTheMiddleOfCharactersIsFound) {
  TextGate gate({"é€"});
  EXPECT_EQ(gate.add("x\xC3"), "x");
  EXPECT_EQ(gate.add("\xA9\xE2\x82"), "");
  EXPECT_EQ(gate.add("\xAC"), "");
  EXPECT_TRUE(gate.found());
}

}  // namespace
}  // namespace warpsmith::commands
