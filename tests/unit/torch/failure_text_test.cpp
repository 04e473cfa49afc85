// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/tensors/failure_text.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace headroom::torch_runner {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(FailureText, OfAnOperatorIsItsSentenceWithoutTheBacktrace) {
  try {
    at::mm(at::zeros({2, 3}), at::zeros({4, 5}));
    FAIL() << "accepted";
  } catch (const std::exception& error) {
    EXPECT_THAT(failure_text(error),
                AllOf(HasSubstr("2x3 and 4x5"), Not(HasSubstr("frame")), Not(HasSubstr("\n"))));
  }
}

TEST(FailureText, OfTorchScriptIsTheLineWithTheError) {
  const std::runtime_error error(
      "The following operation failed in the TorchScript interpreter.\n"
      "Traceback of TorchScript, serialized code (most recent call last):\n"
      "  File \"code/__torch__.py\", line 4, in forward\n    return torch.mm(x, y)\n           ~~~~~~~~ <--- "
      "HERE\n"
      "RuntimeError: the sizes do not fit\nException raised from mm at x.cpp:3\nframe #0: somewhere\n");
  EXPECT_EQ(failure_text(error), "RuntimeError: the sizes do not fit");
}

TEST(FailureText, OfAnythingElseIsItsFirstLine) {
  EXPECT_EQ(failure_text(std::runtime_error("\n  first: line\nsecond")), "first: line");
  EXPECT_EQ(failure_text(std::runtime_error("")), "an error that says nothing");
}

}  // namespace
}  // namespace headroom::torch_runner
