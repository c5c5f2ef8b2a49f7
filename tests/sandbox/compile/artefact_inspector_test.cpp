// SPDX-License-Identifier: Apache-2.0
// Facts of real artefacts, and damaged ones.
#include "sandbox/compile/artefact_inspector.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/random_stream.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"

namespace warpsmith::sandbox {
namespace {

const std::string honest =
    "#include \"warpsmith.h\"\n"
    "extern \"C\" void solve(const void* const* in, void* const* out, const int64_t* dims) {\n"
    "  const float* x = (const float*)in[0]; float* y = (float*)out[0];\n"
    "  for (int64_t i = 0; i < dims[0]; ++i) y[i] = expf(x[i]);\n}\n";

TEST(ArtefactInspectorTest, ReadsExportsImportsAndLibraries) {
  const auto facts = read_artefact(testing::compile_kernel(honest));
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(std::count(facts->exports.begin(), facts->exports.end(), "solve"), 1);
  EXPECT_EQ(std::count(facts->imports.begin(), facts->imports.end(), "expf"), 1);
  EXPECT_EQ(std::count(facts->needed.begin(), facts->needed.end(), "libm.so.6"), 1);
  EXPECT_EQ(facts->constructors, 0U);
  EXPECT_FALSE(objection_to(*facts, "solve"));
}

TEST(ArtefactInspectorTest, ObjectsToWhatTheContractForbids) {
  ArtefactFacts facts;
  EXPECT_EQ(objection_to(facts, "solve")->outcome, VerdictClass::launch_error);
  facts.exports = {"solve"};
  EXPECT_FALSE(objection_to(facts, "solve"));
  facts.needed = {"libcublas.so.12"};
  EXPECT_EQ(objection_to(facts, "solve")->outcome, VerdictClass::banned_construct);
  facts.needed.clear();
  facts.imports = {"fork"};
  EXPECT_NE(objection_to(facts, "solve")->text.find("fork"), std::string::npos);
  facts.imports.clear();
  facts.constructors = 1;
  EXPECT_TRUE(objection_to(facts, "solve"));
}

TEST(ArtefactInspectorTest, RefusesFilesThatAreNotSharedObjects) {
  EXPECT_FALSE(read_artefact(""));
  EXPECT_FALSE(read_artefact("#!/bin/sh\n"));
  EXPECT_FALSE(read_artefact(std::string(4096, '\x7f')));
}

TEST(ArtefactInspectorTest, DamagedBytesAreRefusedOrReadWithinBounds) {
  const std::string good = testing::compile_kernel(honest);
  RandomStream random{3, "elf"};
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = good;
    // Headers and tables matter most; they sit at both ends.
    for (int i = 0; i < 4; ++i) {
      const uint64_t near = random.below(400);
      const uint64_t at = random.below(2) == 0 ? near : bytes.size() - 1 - near;
      bytes[at] = static_cast<char>(random());
    }
    if (random.below(4) == 0) bytes.resize(random.below(bytes.size()));
    refused += read_artefact(bytes) ? 0 : 1;
  }
  EXPECT_GT(refused, 300);
}

}  // namespace
}  // namespace warpsmith::sandbox
