// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda_device/cupti/cupti_library.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "../error_message.h"
#include "headroom_cuda_device/cupti/cupti_recorder.h"

namespace headroom::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

bool is_loaded() {
  std::ifstream maps("/proc/self/maps");
  const std::string text{std::istreambuf_iterator<char>(maps), {}};
  return text.find("libcupti") != std::string::npos;
}

/// An environment variable for the time of a test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST(CuptiLibrary, ItIsNotLoadedBeforeItIsNeeded) {
  const bool before = is_loaded();  // by another test
  const CuptiRecorder recorder("/tmp/never.json");
  EXPECT_EQ(is_loaded(), before);
}

TEST(CuptiLibrary, WhereItIsLookedFor) {
  const Variable home("CUDA_HOME", "/opt/mine");
  const std::vector<std::string> candidates = cupti_candidates();
  EXPECT_THAT(candidates.front(), HasSubstr("libcupti.so.1"));
  EXPECT_THAT(candidates, testing::Contains("/opt/mine/lib64/libcupti.so.12"));
  EXPECT_THAT(candidates, testing::Contains("/opt/mine/extras/CUPTI/lib64/libcupti.so.13"));
  const Variable named("HEADROOM_CUPTI", "/elsewhere/libcupti.so");
  EXPECT_THAT(cupti_candidates(), ElementsAre("/elsewhere/libcupti.so"));
}

TEST(CuptiLibrary, WhatIsMissingIsSaidWithWhatToDo) {
  const std::string none = test::message_of([] { load_cupti({"/no/libcupti.so.13"}); });
  EXPECT_THAT(none, HasSubstr("CUPTI, which records what a GPU does, was not found"));
  EXPECT_THAT(none, HasSubstr("HEADROOM_CUPTI"));
  EXPECT_THAT(none, HasSubstr("/no/libcupti.so.13"));
  EXPECT_THAT(test::message_of([] { load_cupti({"libc.so.6"}); }), HasSubstr("it has no cuptiGetVersion"));
}

TEST(CuptiLibrary, TheToolkitsIsUnderstood) {
  CuptiLibrary library;
  try {
    library = load_cupti(cupti_candidates());
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  EXPECT_TRUE(is_loaded());
  EXPECT_GT(library.version, 0U);
  const char* name = nullptr;
  ASSERT_EQ(library.get_callback_name(CUPTI_CB_DOMAIN_RUNTIME_API, 211, &name), CUPTI_SUCCESS);
  EXPECT_STREQ(name, "cudaLaunchKernel_v7000");
  EXPECT_THAT(test::message_of([&] { library.check(CUPTI_ERROR_NOT_INITIALIZED, "cuptiActivityEnable"); }),
              HasSubstr("cuptiActivityEnable failed: CUPTI_ERROR_NOT_INITIALIZED"));
}

}  // namespace
}  // namespace headroom::cuda
