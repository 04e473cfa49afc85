// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/columns/kernel_category.h"

#include <gtest/gtest.h>

#include "trace_builder.h"

namespace headroom::trace {
namespace {

// Names from real traces of V100, A100, H100, B200, MI210 to MI300.
TEST(KernelCategory, ByName) {
  const std::pair<const char*, KernelCategory> kNames[] = {
      {"volta_sgemm_128x32_nt", KernelCategory::kGemm},
      {"nvjet_tst_64x16_64x16_2x4_2cta_h_bz_bias_TNT", KernelCategory::kGemm},
      {"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x192x64_MI16x16x1_SN", KernelCategory::kGemm},
      {"void cublasLt::splitKreduce_kernel<32, 16, int, __nv_bfloat16>", KernelCategory::kGemm},
      {"triton_tem_fused_mm_1", KernelCategory::kGemm},
      {"void implicit_convolve_sgemm<float, float, 1024>(int)", KernelCategory::kConvolution},
      {"volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", KernelCategory::kConvolution},
      {"void cudnn::cnn::wgrad_alg0_engine<float, 128, 6>(int)", KernelCategory::kConvolution},
      {"fmha_cutlassF_bf16_aligned_64x64_rf_sm80", KernelCategory::kAttention},
      {"void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64>>",
       KernelCategory::kAttention},
      {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)",
       KernelCategory::kNormalisation},
      {"void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>(float)",
       KernelCategory::kNormalisation},
      {"triton_red_fused__to_copy_add_addmm_div_mean_mul_neg_pow_rsqrt_stack_sub",
       KernelCategory::kNormalisation},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>",
       KernelCategory::kElementwise},
      {"triton_poi_fused_relu_0", KernelCategory::kElementwise},
      {"void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)", KernelCategory::kElementwise},
      {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>", KernelCategory::kReduction},
      {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 8>",
       KernelCategory::kReduction},
      {"void at::native::(anonymous namespace)::embedding_backward_feature_kernel<float>",
       KernelCategory::kEmbedding},
      {"void at::native::(anonymous namespace)::indexSelectLargeIndex<float>", KernelCategory::kEmbedding},
      {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<4>>",
       KernelCategory::kOptimizer},
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL", KernelCategory::kCommunication},
      {"void at::native::(anonymous namespace)::CatArrayBatchedCopy<float>", KernelCategory::kMemory},
      {"void at::native::elementwise_kernel<128, 2, at::native::direct_copy_kernel_cuda>",
       KernelCategory::kMemory},
      {"Memcpy DtoD (Device -> Device)", KernelCategory::kMemory},
      {"spin", KernelCategory::kOther},
      {"", KernelCategory::kOther}};
  for (const auto& [name, category] : kNames)
    EXPECT_EQ(kernel_category(name), category) << name << ": " << to_string(kernel_category(name));
}

TEST(KernelCategory, OfAGenericKernelIsWhatItsOperatorIsFor) {
  TraceBuilder builder;
  std::int64_t at = 0, correlation = 0;
  const auto add = [&](const char* op, const char* kernel) {
    builder.op(op, at, 50);
    builder.runtime("cudaLaunchKernel", at + 10, 5, ++correlation);
    builder.kernel(kernel, at + 20, 5, correlation);
    at += 100;
  };
  const char* const loop = "void at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor<float>>";
  add("aten::native_layer_norm", loop);
  add("autograd::engine::evaluate_function: EmbeddingBackward0", loop);
  add("aten::_fused_adamw_", loop);
  add("aten::mul", loop);
  add("aten::addmm", loop);                    // what it adds
  add("aten::layer_norm", "sgemm_128x64");     // a product is one
  add("aten::layer_norm", "ncclDevKernel_x");  // and communication
  builder.copy(at, 5);
  using enum KernelCategory;
  EXPECT_EQ(kernel_categories(builder.trace, kernel_types(builder.trace)),
            (std::vector{kNormalisation, kEmbedding, kOptimizer, kElementwise, kElementwise, kGemm,
                         kCommunication, kMemory}));
}

}  // namespace
}  // namespace headroom::trace
