// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/columns/short_name.h"

#include <gtest/gtest.h>

namespace headroom::trace {
namespace {

TEST(ShortName, DropsWhatTellsInstancesApart) {
  EXPECT_EQ(short_name("void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, "
                       "at::detail::Array<char*, 3> >(int, at::native::AddFunctor<float>)"),
            "at::native::vectorized_elementwise_kernel");
  EXPECT_EQ(short_name("void (anonymous namespace)::softmax_warp_forward<float>(float*)"),
            "softmax_warp_forward");
  EXPECT_EQ(short_name("void at::native::(anonymous namespace)::CatArrayBatchedCopy<int>(int*)"),
            "at::native::CatArrayBatchedCopy");
  EXPECT_EQ(short_name("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, 7>(Params<int>)"),
            "internal::gemvx::kernel");
  EXPECT_EQ(short_name("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"),
            "ncclKernel_AllReduce_RING_LL_Sum_float");
  EXPECT_EQ(short_name("void add<float>(float*) [clone .kd]"), "add");
  EXPECT_EQ(short_name("auto f<x>(int)->decltype(y) const"), "const");
}

TEST(ShortName, LeavesWhatIsShort) {
  for (const char* name : {"ampere_sgemm_32x128_tn", "triton_poi_fused_add_0", "",
                           "Memcpy HtoD (Pinned -> Device)", "Memset (Device)", "gemm kernel"}) {
    EXPECT_EQ(short_name(name), name);
  }
}

TEST(ShortName, IsNeverEmptyForBracketsThatDoNotMatch) {
  EXPECT_EQ(short_name("<lambda>"), "<lambda>");
  EXPECT_EQ(short_name("a<b"), "a<b");
  EXPECT_EQ(short_name("f)>"), "f)>");
  EXPECT_EQ(short_name("f(g<h)"), "f");
  EXPECT_EQ(short_name("("), "(");
}

TEST(TellingName, HasTheFunctorOfAGenericKernel) {
  EXPECT_EQ(
      telling_name("void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int)"),
      "vectorized_elementwise_kernel<AddFunctor>");
  EXPECT_EQ(
      telling_name(
          "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float>>>"),
      "reduce_kernel<MeanOps>");
  EXPECT_EQ(telling_name("void cutlass::Kernel<cutlass::SomeFunctor>(int)"), "Kernel");
  EXPECT_EQ(telling_name("_ZN2ck16tensor_operation6device4gemmINS_13tensor_layout4copyE"), "gemm");
  EXPECT_EQ(telling_name("volta_sgemm_128x32_nt"), "volta_sgemm_128x32_nt");
  EXPECT_EQ(telling_name(""), "");
}

}  // namespace
}  // namespace headroom::trace
