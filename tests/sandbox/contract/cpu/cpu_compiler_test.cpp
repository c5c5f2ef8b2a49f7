// SPDX-License-Identifier: Apache-2.0
// The compiler of contract `cpu`: artefacts, errors with their place, the cache, what sources
// cannot reach.
#include "sandbox/contract/cpu/cpu_compiler.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "tests/sandbox/support/sandbox_fixture.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox {
namespace {

using test_support::TemporaryFolder;
using testing::in_seconds;

const std::string head =
    "extern \"C\" void solve(const void* const* in, void* const* out, const long* dims) ";

class CpuCompilerTest : public ::testing::Test {
 protected:
  /// All cases share the precompiled header, which takes two seconds.
  void SetUp() override {
    static const TemporaryFolder shared;
    std::filesystem::create_directory_symlink(shared.path(), folder_.path() / "compiled-prelude");
  }
  Compiled compile(const std::string& source) {
    if (!compiler_) {
      SandboxOptions options;
      options.cache_dir = folder_.path();
      auto made = CpuCompiler::create(options);
      if (!made) throw std::runtime_error(made.error().message);
      compiler_.emplace(std::move(*made));
    }
    auto compiled = compiler_->compile({{"kernel.cpp", source}}, in_seconds(60));
    if (!compiled) throw std::runtime_error(compiled.error().message);
    return *compiled;
  }
  TemporaryFolder folder_;
  std::optional<CpuCompiler> compiler_;
};

TEST_F(CpuCompilerTest, AnswersTheSameSourceFromTheCache) {
  const Compiled first = compile(head + "{ *(float*)out[0] = 1; }");
  ASSERT_FALSE(first.failure) << first.text;
  EXPECT_FALSE(first.cached);
  EXPECT_TRUE(
      first.artefact.starts_with("\x7f"
                                 "ELF"));
  const Compiled second = compile(head + "{ *(float*)out[0] = 1; }");
  EXPECT_TRUE(second.cached);
  EXPECT_EQ(second.artefact, first.artefact);
}

TEST_F(CpuCompilerTest, ReportsErrorsWithTheirPlaceAndCachesThem) {
  const std::string broken = "\n" + head + "{ return 1 }";
  const Compiled first = compile(broken);
  EXPECT_EQ(first.failure, VerdictClass::compile_error);
  EXPECT_TRUE(first.text.starts_with("kernel.cpp:2:")) << first.text;
  EXPECT_EQ(compile(broken).text, first.text);
}

/// Otherwise the first submission would decide the answer for all later ones with the same sources.
TEST_F(CpuCompilerTest, FilesThatTheCompilerIgnoresChangeNothing) {
  const std::string source = "#ifdef _GLIBCXX_VECTOR\n#error prelude\n#endif\n" + head + "{}";
  (void)compile(head + "{}");
  const auto first = compiler_->compile(
      {{"kernel.cpp", source}, {"notes.txt", "#include <vector>\n"}}, in_seconds(60));
  ASSERT_TRUE(first);
  EXPECT_FALSE(first->failure) << first->text;
  EXPECT_TRUE(compile(source).cached);
}

TEST_F(CpuCompilerTest, NamesMissingFunctionsAtCompileTime) {
  const Compiled result = compile("void missing();\n" + head + "{ missing(); }");
  EXPECT_EQ(result.failure, VerdictClass::compile_error);
  EXPECT_NE(result.text.find("missing"), std::string::npos) << result.text;
}

TEST_F(CpuCompilerTest, RefusesConstructorsThreadsAndMissingEntryPoints) {
  EXPECT_EQ(compile("__attribute__((constructor)) void f() {}\n" + head + "{}").failure,
            VerdictClass::banned_construct);
  EXPECT_EQ(compile("#include <thread>\n" + head + "{ std::thread([] {}).join(); }").failure,
            VerdictClass::banned_construct);
  EXPECT_EQ(compile("void solve() {}").failure, VerdictClass::launch_error);
}

TEST_F(CpuCompilerTest, RefusesResolversAndDestructorsWithoutASymbol) {
  const std::string resolver =
      "static void one() {}\n"
      "extern \"C\" { __attribute__((used)) static void* pick() { return (void*)one; } }\n"
      "extern \"C\" __attribute__((visibility(\"hidden\"), ifunc(\"pick\"))) void two();\n";
  EXPECT_EQ(compile(resolver + head + "{ two(); }").failure, VerdictClass::banned_construct);
  EXPECT_EQ(compile("__attribute__((destructor)) void f() {}\n" + head + "{}").failure,
            VerdictClass::banned_construct);
}

TEST_F(CpuCompilerTest, AcceptsStaticObjectsWithDestructors) {
  const Compiled result = compile("#include <vector>\n" + head +
                                  "{ static std::vector<float> scratch(100); scratch[0] = 1; }");
  EXPECT_FALSE(result.failure) << result.text;
}

TEST_F(CpuCompilerTest, SourcesCannotReadTheHost) {
  const std::string secret = folder_.path() / "secret.h";
  std::ofstream(secret) << "secret_word\n";
  const Compiled include = compile("#include \"" + secret + "\"\n" + head + "{}");
  EXPECT_EQ(include.failure, VerdictClass::compile_error);
  EXPECT_EQ(include.text.find("secret_word"), std::string::npos);
  EXPECT_EQ(compile("#include \"/etc/passwd\"\n" + head + "{}").failure,
            VerdictClass::compile_error);
  EXPECT_EQ(compile("asm(\".incbin \\\"/etc/passwd\\\"\");\n" + head + "{}").failure,
            VerdictClass::compile_error);
}

TEST_F(CpuCompilerTest, BoundsSourceSizeTimeAndMemory) {
  EXPECT_EQ(compile(std::string(300'000, ' ')).failure, VerdictClass::compile_error);
  const Compiled large =
      compile("char big[1u << 30] = {1};\n" + head + "{ *(char*)out[0] = big[5]; }");
  EXPECT_EQ(large.failure, VerdictClass::compile_error);
  EXPECT_EQ(large.text, "the object is larger than 32 MB");
}

TEST_F(CpuCompilerTest, CutsTheCompilersMessages) {
  SandboxOptions options;
  options.cache_dir = folder_.path();
  options.settings.message_bytes = 40;
  options.settings.source_bytes = 200;
  auto compiler = CpuCompiler::create(options);
  ASSERT_TRUE(compiler);
  const auto cut = compiler->compile({{"kernel.cpp", head + "{ return 1 }"}}, in_seconds(60));
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->failure, VerdictClass::compile_error);
  EXPECT_LE(cut->text.size(), 80U) << cut->text;
  const auto large = compiler->compile({{"kernel.cpp", std::string(201, ' ')}}, in_seconds(60));
  ASSERT_TRUE(large);
  EXPECT_NE(large->text.find("more than 200"), std::string::npos) << large->text;
}

TEST_F(CpuCompilerTest, StopsEndlessTemplates) {
  SandboxOptions options;
  options.cache_dir = folder_.path();
  options.settings.compile_timeout = std::chrono::milliseconds{1500};
  auto compiler = CpuCompiler::create(options);
  ASSERT_TRUE(compiler);
  const std::string endless =
      "template <int N, int M> struct F {\n"
      "  static constexpr int v = F<N - 1, 2 * M>::v + F<N - 1, 2 * M + 1>::v;\n};\n"
      "template <int M> struct F<0, M> { static constexpr int v = M; };\n" +
      head + "{ *(long*)out[0] = F<30, 0>::v; }";
  const auto compiled = compiler->compile({{"kernel.cpp", endless}}, in_seconds(60));
  ASSERT_TRUE(compiled);
  EXPECT_TRUE(compiled->failure == VerdictClass::timeout ||
              compiled->failure == VerdictClass::out_of_memory)
      << compiled->text;
}

/// The given lines, then a loop of mathematics.
std::string mathematics(const std::string& includes) {
  return includes +
         "extern \"C\" void solve(const void* const* in, void* const* out, const int64_t* dims) {\n"
         "  const float* x = (const float*)in[0]; float* y = (float*)out[0];\n"
         "  #pragma omp simd\n"
         "  for (int64_t i = 0; i < dims[0]; ++i) y[i] = tanhf(x[i]) + powf(x[i], 3) + "
         "sqrtf(x[i]);\n"
         "}\n";
}

TEST_F(CpuCompilerTest, OnlyOurHeadersMathematicsIsVectorised) {
  const std::string ours = "#include \"warpsmith.h\"\n", theirs = "#include <math.h>\n";
  for (const std::string& includes : {ours, theirs + ours}) {
    const Compiled result = compile(mathematics(includes));
    ASSERT_FALSE(result.failure) << result.text;
    EXPECT_NE(result.artefact.find("v_tanhf"), std::string::npos) << includes;
  }
  const Compiled plain = compile(mathematics(theirs + "#include <stdint.h>\n"));
  ASSERT_FALSE(plain.failure) << plain.text;
  EXPECT_EQ(plain.artefact.find("v_tanhf"), std::string::npos);
}

/// Each case makes its own precompiled header.
class PreludeTest : public CpuCompilerTest {
 protected:
  void SetUp() override {}
};

const std::string vector_source =
    "#include <immintrin.h>\n#include <cmath>\n" + head +
    "{ _mm_storeu_ps((float*)out[0], _mm_set1_ps(std::exp(*(const float*)in[0]))); }";

/// The inode of the only file in a folder; 0 if there is not exactly one.
ino_t only_file_of(const std::filesystem::path& folder) {
  const auto files = std::filesystem::directory_iterator(folder);
  struct ::stat file{};
  if (files == end(files) || ::stat(files->path().c_str(), &file) != 0) return 0;
  return std::distance(begin(files), end(files)) == 1 ? file.st_ino : 0;
}

TEST_F(PreludeTest, APrecompiledHeaderIsMadeOnceAndShared) {
  ASSERT_FALSE(compile(vector_source).failure);
  const ino_t made = only_file_of(folder_.path() / "compiled-prelude");
  EXPECT_NE(made, 0U);
  compiler_.reset();
  ASSERT_FALSE(compile(vector_source + "\n").failure);
  EXPECT_EQ(only_file_of(folder_.path() / "compiled-prelude"), made);
}

TEST_F(PreludeTest, AMissingPrecompiledHeaderIsMadeAgain) {
  ASSERT_FALSE(compile(vector_source).failure);
  const std::filesystem::path folder = folder_.path() / "compiled-prelude";
  std::filesystem::remove_all(folder);
  ASSERT_FALSE(compile(vector_source + "\n").failure);
  EXPECT_NE(only_file_of(folder), 0U);
}

TEST_F(PreludeTest, OnlyOldPrecompiledHeadersOfOthersAreRemoved) {
  const std::filesystem::path folder = folder_.path() / "compiled-prelude";
  std::filesystem::create_directories(folder);
  std::ofstream{folder / "young.gch"} << "x";
  std::ofstream{folder / "old.gch"} << "x";
  std::filesystem::last_write_time(
      folder / "old.gch",
      std::filesystem::file_time_type::clock::now() - std::chrono::hours{24 * 30});
  ASSERT_FALSE(compile(vector_source).failure);
  EXPECT_TRUE(std::filesystem::exists(folder / "young.gch"));
  EXPECT_FALSE(std::filesystem::exists(folder / "old.gch"));
}

TEST(WantsPreludeTest, IsTrueForSourcesThatIncludeLibraryHeaders) {
  EXPECT_FALSE(wants_prelude({{"kernel.cpp", "#include \"warpsmith.h\"\n#include <cstdint>\n"}}));
  EXPECT_TRUE(wants_prelude({{"kernel.cpp", "#include <cstdint>\n#include <cmath>\n"}}));
}

TEST_F(CpuCompilerTest, OurHeaderCompilesTogetherWithTheLibrarys) {
  EXPECT_FALSE(compile("#include \"warpsmith.h\"\n#include <cmath>\n#include <cstring>\n" + head +
                       "{ *(float*)out[0] = std::exp(1.0f) + expf(1) + INFINITY; }")
                   .failure);
  EXPECT_FALSE(compile("#include <cmath>\n#include <algorithm>\n#include \"warpsmith.h\"\n" + head +
                       "{ *(float*)out[0] = std::max(fabsf(1.0f), NAN); }")
                   .failure);
}

}  // namespace
}  // namespace warpsmith::sandbox
