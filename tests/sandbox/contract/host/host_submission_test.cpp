// SPDX-License-Identifier: Apache-2.0
// What a submission of contract `host` may contain, and the messages for what it may not.
#include "sandbox/contract/host/host_submission.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warpsmith::sandbox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t most_bytes = 4096;
const std::string module = "class ModelNew:\n    pass\n";

FileSet workspace() {
  return {{"model_new.py", module},
          {"kernels/axpby.cu", "__global__ void k() {}"},
          {"kernels/axpby_binding.cpp", "REGISTER_BINDING(axpby, define)"},
          {"kernels/common.cuh", "#pragma once"}};
}
FileSet with(const std::string& name, const std::string& content) {
  FileSet files = workspace();
  files[name] = content;
  return files;
}
std::string objection_to(const FileSet& files) {
  const auto submission = host_submission(files, most_bytes);
  if (submission) return "";
  EXPECT_EQ(submission.error().failure, VerdictClass::compile_error);
  return submission.error().text;
}

TEST(HostSubmissionTest, TellsTheLayoutsApart) {
  const auto extension = host_submission(workspace(), most_bytes);
  ASSERT_TRUE(extension);
  EXPECT_EQ(extension->artefact, HostArtefact::extension);
  EXPECT_THAT(extension->compiled, ElementsAre("kernels/axpby.cu", "kernels/axpby_binding.cpp"));
  EXPECT_EQ(extension->sources.size(), 3U);
  EXPECT_EQ(host_submission({{"model_new.py", module}}, most_bytes)->artefact, HostArtefact::none);
  const std::string inlined = "from torch.utils.cpp_extension import load_inline\n" + module;
  EXPECT_EQ(host_submission({{"model_new.py", inlined}}, most_bytes)->artefact,
            HostArtefact::built);
}

TEST(HostSubmissionTest, LeavesOutWhatTheBuildProvides) {
  FileSet files = workspace();
  for (const char* name : {"binding.cpp", "binding_registry.h", "model.py", "reference.py"}) {
    files[name] = "anything";
  }
  const auto submission = host_submission(files, most_bytes);
  ASSERT_TRUE(submission);
  EXPECT_EQ(submission->modules.size(), 1U);
  EXPECT_EQ(submission->sources.size(), 3U);
}

TEST(HostSubmissionTest, NamesWhatIsMissing) {
  FileSet files = workspace();
  files.erase("model_new.py");
  EXPECT_EQ(objection_to(files), "solution/model_new.py is missing");
  EXPECT_EQ(objection_to(with("model_new.py", "x = 1")), "model_new.py defines no class ModelNew");
  files = workspace();
  files.erase("kernels/axpby_binding.cpp");
  EXPECT_THAT(objection_to(files), HasSubstr("kernels/ holds no *_binding.cpp"));
}

TEST(HostSubmissionTest, RefusesPathsThatLeaveTheFolder) {
  for (const char* name :
       {"/etc/x.py", "../x.py", "kernels/../../x.cu", "kernels//x.cu", ".hidden.py",
        "kernels/-x.cu", "kernels/a b.cu", "kernels/a\nb.cu", "kernels/"}) {
    EXPECT_THAT(objection_to(with(name, "")), HasSubstr("a relative path")) << name;
  }
  EXPECT_THAT(objection_to(with(std::string(200, 'a') + ".py", "")), HasSubstr("a relative path"));
}

TEST(HostSubmissionTest, RefusesFilesOfOtherKinds) {
  for (const char* name :
       {"notes.txt", "kernels/plain.cpp", "kernels/lib.so", "other/k.cu", "sub/model_new.py"}) {
    EXPECT_THAT(objection_to(with(name, "x")),
                HasSubstr(std::string(name) + ": contract host takes"));
  }
}

TEST(HostSubmissionTest, RefusesFilesThatAreNotText) {
  EXPECT_EQ(objection_to(with("kernels/axpby.cu", std::string("ab\0c", 4))),
            "kernels/axpby.cu is no text: byte 2 is zero");
  EXPECT_EQ(objection_to(with("model_new.py", module + "# \xff")),
            "model_new.py is no text: byte 27 is not UTF-8");
  // A cut sequence, an overlong one, a surrogate, one beyond the last character.
  for (const char* odd : {"\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80"}) {
    EXPECT_EQ(objection_to(with("model_new.py", module + odd)),
              "model_new.py is no text: byte 25 is not UTF-8");
  }
  EXPECT_EQ(objection_to(with("model_new.py", module + "# \xc3\xa9")), "");
  EXPECT_THAT(objection_to(with("kernels/axpby.cu", std::string(5000, ' '))),
              HasSubstr("more than 4096"));
}

}  // namespace
}  // namespace warpsmith::sandbox
