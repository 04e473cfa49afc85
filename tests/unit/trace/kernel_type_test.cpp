// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/columns/kernel_type.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "trace_builder.h"

namespace headroom::trace {
namespace {

TEST(KernelType, ByName) {
  for (const char* name :
       {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "ncclDevKernel_AllGather_RING_LL",
        "void deep_ep::intranode::dispatch<8, 768>", "vllm::cross_device_reduce_1stage<__half, 8>",
        "nvshmemi_transfer", "rcclGenericKernel", "hcclKernel",
        "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)"}) {
    EXPECT_EQ(kernel_type(name), KernelType::kCommunication) << name;
  }
  for (const char* name : {"Memcpy HtoD (Pinned -> Device)", "Memset (Device)", "hipMemcpyAsync", "dma_copy",
                           "__amd_rocclr_copyBuffer.kd", "MEMORY_COPY_HOST_TO_DEVICE"}) {
    EXPECT_EQ(kernel_type(name), KernelType::kMemory) << name;
  }
  for (const char* name : {"volta_sgemm_128x32_nt", "sage_fwd", "", "void reduce_kernel<512>"}) {
    EXPECT_EQ(kernel_type(name), KernelType::kCompute) << name;
  }
}

TEST(KernelType, CommunicationOfEveryLibrary) {
  for (const char* name :
       {"void deep_ep::internode::dispatch<false, 4, true, 14480, 8>(int4*, float*)",
        "void ep::internode::dispatch<false, 4, true>(int4*)",
        "void ep::intranode::combine<__nv_bfloat16, 8, 768>",
        "void ep::internode_ll::combine<7168, 9, 9>(void*)",
        "_ZN2ep9internode8dispatchILb0ELi4EEEvP4int4",
        "_ZN2ep12internode_ll7combineILi7168EEEvPv",
        "mscclpp_allreduce_adapter",
        "mscclpp::allgather2",
        "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<0, __half>",
        "void tensorrt_llm::kernels::oneShotAllReduceKernel<__half, 8>",
        "void tensorrt_llm::kernels::mnnvl_throughput::moeA2ADispatchKernel<__nv_bfloat16>",
        "void aiter::reduce_scatter_cross_device_store<__hip_bfloat16, 8>",
        "quickreduce::allreduce_prototype_twoshot",
        "void two_shot_all_reduce_kernel<c10::BFloat16, 8>",
        "nvshmemi_proxy_quiet",
        "oneccl_allreduce_ring_kernel",
        "hcom_allGather__721_3_1",
        "ncclSymkDevKernel_AllReduce_AGxLLMC_R_sum_bf16",
        "rocshmem_putmem_nbi",
        "userbuffers_fp16_sum_inplace_gpu_rw"}) {
    EXPECT_EQ(kernel_type(name), KernelType::kCommunication) << name;
  }
  for (const char* name :
       {"triton_poi_fused_all_reduce_wait_tensor_add_0", "triton_red_fused_all_gather_into_tensor_mean_3",
        "void at::native::_scatter_gather_elementwise_kernel<128, 8>", "void step::intracellular<float>",
        "void at::native::scatter_reduce_kernel<float>"}) {
    EXPECT_EQ(kernel_type(name), KernelType::kCompute) << name;
  }
}

TEST(KernelType, WhatTheUserNamesIsCommunication) {
  TraceBuilder builder;
  builder.kernel("void mine::send<float, 8>(float*, int)", 0, 1);
  builder.kernel("mine::receive", 0, 1);
  builder.kernel("gemm", 0, 1);
  builder.set(0, 1);
  const auto count = [&](std::vector<std::string> patterns) {
    builder.trace.communication_patterns = std::move(patterns);
    return std::ranges::count(kernel_types(builder.trace), KernelType::kCommunication);
  };
  EXPECT_EQ(count({}), 0);
  EXPECT_EQ(count({"mine::send"}), 1);  // without its template arguments
  EXPECT_EQ(count({"mine::*"}), 2);
  EXPECT_EQ(count({"mine"}), 0);  // a pattern is for all of a name
  EXPECT_EQ(count({"void mine::send<float, 8>(float*, int)", "g?mm"}), 2);
  EXPECT_EQ(count({"Memset*"}), 0);  // sets and copies are what they are
}

TEST(KernelType, CopiesAndSetsAreMemoryWhateverTheirName) {
  TraceBuilder builder;
  builder.gpu(Category::kGpuMemcpy, "nccl looks like it", 0, 1);
  builder.gpu(Category::kGpuMemset, "x", 0, 1);
  builder.kernel("gemm", 0, 1);
  builder.kernel("ncclKernel", 0, 1);
  EXPECT_EQ(kernel_types(builder.trace),
            (std::vector<KernelType>{KernelType::kMemory, KernelType::kMemory, KernelType::kCompute,
                                     KernelType::kCommunication}));
}

TEST(KernelBaseName, IsWhatComesBeforeTheTemplateArguments) {
  EXPECT_EQ(
      kernel_base_name("void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>"),
      "at::native::vectorized_elementwise_kernel");
  EXPECT_EQ(kernel_base_name("volta_sgemm_64x64_nt"), "volta_sgemm_64x64_nt");
  EXPECT_EQ(kernel_base_name("_ZN2ck16tensor_operation6device4gemmINS_13tensor_layout4copyE"),
            "ck::tensor_operation::device::gemm");
  EXPECT_EQ(kernel_base_name("_Z4spinPl"), "spin");
  EXPECT_EQ(kernel_base_name("_Z"), "");
  EXPECT_EQ(kernel_base_name("_ZN99short"), "");
  EXPECT_EQ(kernel_base_name("_ZN99999999999999999999999x"), "");
  EXPECT_EQ(kernel_base_name(""), "");
}

// Names from real traces of V100, A100, H100, B200, MI210 to MI300.
TEST(MatmulKernel, TheProductsOfEveryLibrary) {
  for (const char* name :
       {"volta_sgemm_128x32_nt", "ampere_gcgemm_64x64_nt",
        "volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1",
        "void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int, int, int, float const*)",
        "void cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int, int, int)",
        "void implicit_convolve_sgemm<float, float, 1024, 6, 7, 3, 3, 5, 1, false, true, true>(int)",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64",
        "nvjet_tst_64x16_64x16_2x4_2cta_h_bz_bias_TNT",
        "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_tn_align1>(cutlass_75)",
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x192x64_MI16x16x1_SN",
        "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu",
        "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __nv_bfloat16>",
        "_ZN19cutlass_cudnn_train6KernelINS_4conv6kernel23ImplicitGemmConvolutionINS_11threadblock",
        "_ZN2ck16tensor_operation6device12_GLOBAL__N_139kernel_grouped_conv_fwd_xdl_cshuffle_v3INS_",
        "miopenSp3AsmConv_v30_3_1_gfx9_fp32_f3x2_stride1", "bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3",
        "triton_tem_fused_mm_1", "void cublasLt::splitKreduce_kernel<32, 16, int, __nv_bfloat16>"}) {
    EXPECT_TRUE(is_matmul_or_convolution_kernel(name)) << name;
  }
}

TEST(MatmulKernel, NotWhatOnlyLooksLikeOne) {
  for (const char* name :
       {"void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4, false, "
        "false, cutlass::bfloat16_t>>",
        "fmha_cutlassF_bf16_aligned_64x64_rf_sm80", "void permute_pooled_embs_kernel<float>(float const*)",
        "void "
        "moe::dev::finalize::finalizeKernelVecLoad<moe::dev::finalize::KernelParams<cutlass::bfloat16_t>>",
        "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>", "triton_poi_fused_convolution_relu_0",
        "triton_red_fused__to_copy_add_addmm_div_empty_like_mean_mul_neg_pow_rsqrt_stack_sub",
        "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type "
        "vllm::fused_add_rms_norm_kernel",
        "void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>(float)",
        "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>",
        "void convertTensor_kernel<float, __half, float>", "Memcpy DtoD (Device -> Device)",
        "sage_quant_kernel",
        "void split_embedding_codegen_forward_unweighted_kernel<float, float, float, long, 5ul>(at::)", ""}) {
    EXPECT_FALSE(is_matmul_or_convolution_kernel(name)) << name;
  }
}

TEST(MatmulOp, ByTheOperatorsName) {
  for (const char* name :
       {"aten::mm", "aten::addmm", "aten::linear", "aten::cudnn_convolution", "aten::convolution_backward",
        "aten::miopen_convolution", "aten::conv2d", "mm", "aten::_scaled_mm", "aten::conv_transpose2d"}) {
    EXPECT_TRUE(is_matmul_or_convolution_op(name)) << name;
  }
  for (const char* name : {"aten::mul", "aten::add_", "CompiledFunction", "aten::norm", "aten::_softmax", "",
                           "autograd::engine::evaluate_function: MmBackward0", "aten::converted"}) {
    EXPECT_FALSE(is_matmul_or_convolution_op(name)) << name;
  }
}

}  // namespace
}  // namespace headroom::trace
