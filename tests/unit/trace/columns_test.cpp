// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/columns/host_order.h"
#include "headroom_trace/columns/kernel_names.h"
#include "headroom_trace/columns/process_spaces.h"
#include "headroom_trace/columns/spans.h"
#include "headroom_trace/columns/tensor_arguments.h"
#include "headroom_trace/readers/read.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

using testing::ElementsAre;

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
  EXPECT_EQ(count({"mine"}), 0);  // a pattern must match the whole name
  EXPECT_EQ(count({"void mine::send<float, 8>(float*, int)", "g?mm"}), 2);
  EXPECT_EQ(count({"Memset*"}), 0);  // copies keep their kind
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

// Real names of V100, A100, H100, B200, MI210 to MI300.
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
  add("aten::addmm", loop);
  add("aten::layer_norm", "sgemm_128x64");     // has a matrix product
  add("aten::layer_norm", "ncclDevKernel_x");  // and communication
  builder.copy(at, 5);
  using enum KernelCategory;
  EXPECT_EQ(kernel_categories(builder.trace, kernel_types(builder.trace)),
            (std::vector{kNormalisation, kEmbedding, kOptimizer, kElementwise, kElementwise, kGemm,
                         kCommunication, kMemory}));
}

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
      readable_name("void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int)"),
      "vectorized_elementwise_kernel<AddFunctor>");
  EXPECT_EQ(
      readable_name(
          "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float>>>"),
      "reduce_kernel<MeanOps>");
  EXPECT_EQ(readable_name("void cutlass::Kernel<cutlass::SomeFunctor>(int)"), "Kernel");
  EXPECT_EQ(readable_name("_ZN2ck16tensor_operation6device4gemmINS_13tensor_layout4copyE"), "gemm");
  EXPECT_EQ(readable_name("volta_sgemm_128x32_nt"), "volta_sgemm_128x32_nt");
  EXPECT_EQ(readable_name(""), "");
}

TEST(Spans, MergedIsTheUnionInOrder) {
  EXPECT_EQ(merged({{5, 7}, {1, 3}, {3, 4}, {6, 9}, {2, 2}, {9, 8}}), (Spans{{1, 4}, {5, 9}}));
  EXPECT_EQ(merged({}), Spans{});
}

std::vector<bool> drawn(const Spans& spans, int size) {
  std::vector<bool> line(static_cast<std::size_t>(size), false);
  for (const Span& span : spans) {
    for (auto t = span.start; t < span.end; ++t) line[static_cast<std::size_t>(t)] = true;
  }
  return line;
}

Spans any_spans(std::mt19937& random, int size) {
  std::vector<Span> spans;
  for (unsigned i = random() % 8; i > 0; --i) {
    const auto start = static_cast<std::int64_t>(random() % static_cast<unsigned>(size));
    spans.push_back({start, std::min<std::int64_t>(size, start + static_cast<std::int64_t>(random() % 12))});
  }
  return merged(spans);
}

TEST(Spans, SetOperationsAgreeWithALineOfTicks) {
  constexpr int kSize = 60;
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    const Spans a = any_spans(random, kSize), b = any_spans(random, kSize);
    const auto line_a = drawn(a, kSize), line_b = drawn(b, kSize);
    const auto united = drawn(unite(a, b), kSize), common = drawn(intersect(a, b), kSize),
               rest = drawn(subtract(a, b), kSize);
    for (std::size_t t = 0; t < kSize; ++t) {
      ASSERT_EQ(united[t], line_a[t] || line_b[t]);
      ASSERT_EQ(common[t], line_a[t] && line_b[t]);
      ASSERT_EQ(rest[t], line_a[t] && !line_b[t]);
    }
    ASSERT_EQ(length(unite(a, b)), length(a) + length(b) - length(intersect(a, b)));
  }
}

TEST(Spans, LengthWithinAWindowAndTimeByCombinationAgreeWithALineOfTicks) {
  constexpr int kSize = 60;
  std::mt19937 random(11);
  for (int round = 0; round < 500; ++round) {
    std::array<Spans, 3> sets;
    for (Spans& set : sets) set = any_spans(random, kSize);
    std::vector<std::int64_t> expected(8, 0);
    for (std::size_t t = 0; t < kSize; ++t) {
      std::size_t mask = 0;
      for (std::size_t i = 0; i < 3; ++i) mask |= std::size_t{drawn(sets[i], kSize)[t]} << i;
      if (mask != 0) ++expected[mask];
    }
    ASSERT_EQ(time_by_combination(std::array<const Spans*, 3>{&sets[0], &sets[1], &sets[2]}), expected);
    const Span window{static_cast<std::int64_t>(random() % kSize),
                      static_cast<std::int64_t>(random() % kSize)};
    ASSERT_EQ(length_within(sets[0], window), length(intersect(sets[0], merged({window}))));
  }
  EXPECT_EQ(time_by_combination({}), std::vector<std::int64_t>{0});
}

TEST(TensorArguments, ReadsTensorsListsAndScalars) {
  const std::vector<TensorArgument> arguments = tensor_arguments(
      "[[8,  16], [], [[2], [3, 4], []], []]", R"(["float", "Scalar", "TensorList", "c10::BFloat16"])");
  ASSERT_EQ(arguments.size(), 4U);
  EXPECT_EQ(arguments[0].shape(), (Shape{8, 16}));
  EXPECT_TRUE(arguments[0].is_tensor());
  EXPECT_EQ(elements_of(arguments[0].shape()), 128);
  EXPECT_FALSE(arguments[1].is_tensor());
  EXPECT_TRUE(arguments[2].is_list);
  EXPECT_EQ(arguments[2].shapes, (std::vector<Shape>{{2}, {3, 4}, {}}));
  EXPECT_TRUE(arguments[3].is_tensor());  // without dimensions: one element
  EXPECT_EQ(elements_of(arguments[3].shape()), 1);
}

TEST(TensorArguments, TextsThatAreNoneGiveNothing) {
  for (const char* dims :
       {"", "[", "[[1,]", "[[1]] x", "{}", "[1]", "[[\"a\"]]", "null", "[[99999999999999999999]]"})
    EXPECT_TRUE(tensor_arguments(dims, "[]").empty()) << dims;
  EXPECT_TRUE(tensor_arguments("[]", "[]").empty());
  EXPECT_EQ(tensor_arguments("[[1], [2]]", "[\"float\"").size(), 2U);
  EXPECT_FALSE(tensor_arguments("[[1], [2]]", "[\"float\"").front().is_tensor());
}

TEST(TensorArguments, TypesOfOperatorsAndOfCollectives) {
  EXPECT_EQ(element_bytes("c10::Half"), 2);
  EXPECT_EQ(element_bytes("Half"), 2);
  EXPECT_EQ(element_bytes("c10::Float8_e4m3fn"), 1);
  EXPECT_EQ(element_bytes("long int"), 8);
  EXPECT_EQ(element_bytes("TensorList"), 0);
  EXPECT_EQ(element_bytes(""), 0);
}

TEST(TensorArguments, ListsOfTexts) {
  EXPECT_EQ(text_list(R"(["a", "b\"c", ""])"), (std::vector<std::string_view>{"a", R"(b\"c)", ""}));
  EXPECT_TRUE(text_list(R"(["a", 1])").empty());
  EXPECT_TRUE(text_list(R"(["a)").empty());
}

constexpr CategoryMask kOps = mask_of(Category::kCpuOp);

TEST(Launches, OneLaunchOfAGraphHasManyKernelsAndTheOuterCallWins) {
  TraceBuilder builder;
  const std::uint32_t graph = builder.runtime("cudaGraphLaunch", 100, 50, 5);
  builder.event(Category::kDriver, "cuGraphLaunch", 110, 20, builder.thread(TraceBuilder::kHostPid, "1"), 5);
  builder.kernel("a", 200, 10, 5);
  builder.kernel("b", 210, 10, 5);
  builder.kernel("not launched here", 300, 10, 6);
  builder.kernel("no correlation", 400, 10);
  EXPECT_THAT(launches(builder.trace), ElementsAre(graph, graph, kNone, kNone));
}

TEST(Launches, CorrelationsMayBeAnyNumbersOfTheFile) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                         kMost = std::numeric_limits<std::int64_t>::max();
  for (const auto& numbers : {std::array<std::int64_t, 3>{7, 8, 9},
                              {-7, -2, 3},
                              {kLeast, kMost, 0},
                              {kMost, kMost - 1, kMost - 2}}) {
    TraceBuilder builder;
    std::vector<std::uint32_t> calls;
    for (const std::int64_t number : numbers)
      calls.push_back(builder.runtime("cudaLaunchKernel", 100, 5, number));
    builder.runtime("launches nothing that is in the file", 100, 9, 5);
    builder.runtime("has no number", 100, 9, kNoCorrelation);
    for (const std::int64_t number : numbers) builder.kernel("k", 200, 10, number);
    EXPECT_EQ(launches(builder.trace), calls) << numbers[0];
  }
}

TEST(Parents, TheInnermostOpThatIsOpenOnTheSameThread) {
  TraceBuilder builder;
  const std::uint32_t inner = builder.op("inner", 20, 10).event;  // in the file before its parent
  const std::uint32_t outer = builder.op("outer", 10, 90).event;
  const std::uint32_t other = builder.op("other thread", 0, 100, -1, "2").event;
  const std::uint32_t launch = builder.runtime("cudaLaunchKernel", 25, 2, 1);
  const std::uint32_t after = builder.runtime("cudaLaunchKernel", 30, 5, 2);     // inner ended at 30
  const std::uint32_t outside = builder.runtime("cudaLaunchKernel", 100, 5, 3);  // outer ended at 100
  const std::uint32_t twin = builder.op("same start, shorter", 10, 5).event;
  const std::vector<std::uint32_t> parent = parents(builder.trace, kOps);
  EXPECT_EQ(parent[launch], inner);
  EXPECT_EQ(parent[after], outer);
  EXPECT_EQ(parent[outside], kNone);
  EXPECT_EQ(parent[inner], outer);
  EXPECT_EQ(parent[outer], kNone);
  EXPECT_EQ(parent[other], kNone);
  EXPECT_EQ(parent[twin], outer);
}

TEST(Parents, WhatEndsAfterItsParentIsStillItsChild) {
  TraceBuilder builder;
  const std::uint32_t op = builder.op("rounded down", 10, 10).event;
  const std::uint32_t launch = builder.runtime("cudaLaunchKernel", 15, 6, 1);
  EXPECT_EQ(parents(builder.trace, kOps)[launch], op);
}

TEST(HostOrder, AMomentBelongsToTheOpenEventThatBeganLast) {
  TraceBuilder builder;
  const std::uint32_t outer = builder.op("outer", 0, 100).event;
  const std::uint32_t inner = builder.op("inner", 10, 40).event;
  const std::uint32_t crossing = builder.op("begins in inner, ends after it", 40, 40).event;
  const std::uint32_t beyond = builder.op("ends after outer", 90, 30).event;
  const std::uint32_t empty = builder.op("takes no time", 95, 0).event;
  const std::uint32_t other = builder.op("other thread", 0, 7, -1, "2").event;
  const HostOrder host = host_order(builder.trace);
  std::vector<Span> of_outer, of_beyond;
  for_each_innermost(builder.trace, host, [&](Span span, std::uint32_t event) {
    if (event == outer) of_outer.push_back(span);
    if (event == beyond) of_beyond.push_back(span);
  });
  EXPECT_THAT(of_outer, ElementsAre(Span{0, 10}, Span{80, 90}));
  EXPECT_THAT(of_beyond, ElementsAre(Span{90, 95}, Span{95, 120}));
  const std::vector<std::int64_t> self = self_times(builder.trace, host);
  EXPECT_EQ(self[inner], 30);
  EXPECT_EQ(self[crossing], 40);
  EXPECT_EQ(self[empty], 0);
  EXPECT_EQ(self[other], 7);
  EXPECT_EQ(host.parent[crossing], inner);
  EXPECT_EQ(host.parent[beyond], outer);
}

TEST(HostOrder, SelfTimesOfAnyEventsSumToTheTimesOfTheirThreads) {
  std::mt19937 random(5);
  for (int round = 0; round < 50; ++round) {
    TraceBuilder builder;
    std::vector<std::int64_t> expected;
    for (int i = 0; i < 12; ++i)
      builder.op("op", random() % 30, random() % 20, -1, random() % 2 == 0 ? "1" : "2");
    const Events& events = builder.trace.events;
    const HostOrder host = host_order(builder.trace);
    expected.assign(events.size(), 0);
    for (std::uint32_t thread = 0; thread < builder.trace.threads.size(); ++thread) {
      for (std::int64_t at = 0; at < 50; ++at) {
        std::uint32_t last = kNone;
        for (const std::uint32_t event : host.events) {
          if (events.thread[event] == thread && events.start_ns[event] <= at && at < events.end_ns(event))
            last = event;
        }
        if (last != kNone) ++expected[last];
      }
    }
    EXPECT_EQ(self_times(builder.trace, host), expected) << round;
  }
}

TEST(LaunchingOps, ByTheLaunchElseByTheExternalId) {
  TraceBuilder builder;
  const std::uint32_t op = builder.op("aten::mm", 10, 10, 77).event;
  builder.runtime("cudaLaunchKernel", 12, 2, 1);
  builder.runtime("cudaLaunchKernel", 50, 2, 2);
  builder.kernel("by launch", 100, 5, 1);
  builder.kernel("by id", 110, 5, 2).external_id = 77;
  builder.kernel("by id, its launch is not in the file", 120, 5, 3).external_id = 77;
  builder.kernel("of an op that is not in the file", 130, 5, 4).external_id = 78;
  EXPECT_THAT(launching_ops(builder.trace, launches(builder.trace)), ElementsAre(op, op, op, kNone));
}

bool counts(std::vector<const char*> ops, const char* kernel, Category category = Category::kKernel) {
  TraceBuilder builder;
  std::int64_t depth = 0;
  for (const char* op : ops) {
    builder.op(op, depth, 100 - 2 * depth);
    ++depth;
  }
  builder.runtime("cudaLaunchKernel", 40, 2, 1);
  builder.gpu(category, kernel, 200, 5, 1);
  return matmul_or_convolution(builder.trace)[0];
}

TEST(MatmulAttribution, TheOpSpeaksBeforeTheKernelsName) {
  EXPECT_TRUE(counts({"aten::linear", "aten::addmm"}, "name_that_says_nothing"));
  EXPECT_TRUE(
      counts({"aten::conv2d", "aten::miopen_convolution"}, "void cudnn::ops::nchwToNhwcKernel<float>"));
  EXPECT_TRUE(counts({"aten::matmul", "my::op"}, "name_that_says_nothing"));
  EXPECT_FALSE(counts({"aten::addmm"}, "void at::native::elementwise_kernel<128, 2, copy>"));
  EXPECT_FALSE(counts({"aten::_convolution", "aten::add_"}, "void at::native::elementwise_kernel<128>"));
  EXPECT_FALSE(counts({"aten::mm"}, "Memcpy DtoD (Device -> Device)", Category::kGpuMemcpy));
}

TEST(MatmulAttribution, WhereNoOpSpeaksTheNameDoes) {
  EXPECT_TRUE(counts({}, "volta_sgemm_128x32_nt"));
  EXPECT_TRUE(counts({"CompiledFunction"}, "volta_sgemm_128x32_nt"));
  EXPECT_FALSE(counts({"aten::scaled_dot_product_attention", "aten::_flash_attention_forward"},
                      "void pytorch_flash::flash_fwd_kernel<cutlass::bfloat16_t>"));
  EXPECT_FALSE(counts({}, "Memset (Device)", Category::kGpuMemset));
}

TEST(MatmulAttribution, ByNameAloneNeedsNoLaunch) {
  TraceBuilder builder;
  builder.kernel("volta_sgemm_128x32_nt", 0, 5);
  builder.kernel("void at::native::reduce_kernel<512>", 10, 5);
  builder.copy(20, 5);
  EXPECT_THAT(matmul_or_convolution_by_name(builder.trace), ElementsAre(true, false, false));
}

class MergedText {
 public:
  void add_rank(int host, std::vector<int> devices, int first_correlation, int kernel_us,
                double late_us = 0) {
    add(R"("cat": "user_annotation", "name": "ProfilerStep#1")", host, late_us, 5000, "");
    int number = 0;
    for (int i = 0; i < 20; ++i) {
      const int device = devices[static_cast<std::size_t>(i) % devices.size()];
      const double at = late_us + 100 * i;
      const std::string ids =
          fmt::format(R"("correlation": {}, "External id": {})", first_correlation + number, 2 + i);
      ++number;
      add(fmt::format(R"("cat": "cpu_op", "name": "op of {}")", host), host, at + 1, 9,
          fmt::format(R"("External id": {})", 2 + i));
      // Linked only by the external id.
      add(R"("cat": "cuda_runtime", "name": "cudaLaunchKernel")", host, at + 20, 2, ids);
      add(R"("cat": "kernel", "name": "k")", device, at + 40, kernel_us,
          fmt::format(R"({}, "device": {}, "stream": 7)", ids, device));
    }
  }
  void name(int pid, const std::string& name) {
    events_.push_back(fmt::format(
        R"({{"ph": "M", "pid": {}, "name": "process_name", "args": {{"name": "{}"}}}})", pid, name));
  }
  void sort_by_time() {
    std::ranges::stable_sort(events_, {}, [](const std::string& event) {
      const std::size_t at = event.find("\"ts\": ");
      return at == event.npos ? -1.0 : std::stod(event.substr(at + 6));
    });
  }
  Trace trace() const { return read_text(fmt::format("[{}]", fmt::join(events_, ",\n")), "merged.json"); }

 private:
  void add(const std::string& what, int pid, double ts, double dur, const std::string& arguments) {
    events_.push_back(
        fmt::format(R"({{"ph": "X", {}, "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{{}}}}})", what,
                    pid, pid < 10 ? 7 : pid, ts, dur, arguments));
  }
  std::vector<std::string> events_;
};

std::map<std::string, std::int64_t> time_by_op(const Trace& trace) {
  std::map<std::string, std::int64_t> times;
  const std::vector<std::uint32_t> ops = launching_ops(trace, launches(trace));
  for (std::size_t row = 0; row < ops.size(); ++row) {
    const std::string name(ops[row] == kNone ? "none" : trace.names[trace.events.name[ops[row]]]);
    times[name] += trace.events.duration_ns[trace.gpu[row].event];
  }
  return times;
}

using Times = std::map<std::string, std::int64_t>;

TEST(ProcessSpaces, EachRankHasItsOwnCorrelations) {
  for (const bool is_sorted : {false, true}) {
    for (const int apart : {0, 100'000}) {
      MergedText merged;
      merged.add_rank(100, {0}, 1, 40);
      merged.add_rank(200, {1}, 1 + apart, 80);
      if (is_sorted) merged.sort_by_time();
      const Trace trace = merged.trace();
      EXPECT_EQ(process_spaces(trace).count, 2U);
      EXPECT_EQ(time_by_op(trace), (Times{{"op of 100", 800'000}, {"op of 200", 1'600'000}}))
          << is_sorted << apart;
    }
  }
}

TEST(ProcessSpaces, ALaterRankIsToldByItsTimes) {
  MergedText merged;
  merged.add_rank(100, {0}, 1, 40, 3000);
  merged.add_rank(200, {1}, 1, 80);
  merged.sort_by_time();
  EXPECT_EQ(time_by_op(merged.trace()), (Times{{"op of 100", 800'000}, {"op of 200", 1'600'000}}));
}

TEST(ProcessSpaces, RanksMayHaveSeveralDevices) {
  MergedText merged;
  merged.add_rank(100, {0, 1}, 1, 40);
  merged.add_rank(200, {2, 3, 4}, 1, 80);
  EXPECT_EQ(time_by_op(merged.trace()), (Times{{"op of 100", 800'000}, {"op of 200", 1'600'000}}));
}

TEST(ProcessSpaces, NamesOfMergesSayThem) {
  MergedText merged;
  merged.name(100, "rank 5: python");
  merged.name(1, "rank 5");
  merged.name(200, "rank 3: python");
  merged.name(0, "rank 3");
  merged.add_rank(100, {1}, 1, 40);
  merged.add_rank(200, {0}, 1, 80);
  merged.sort_by_time();
  const Trace trace = merged.trace();
  const ProcessSpaces spaces = process_spaces(trace);
  EXPECT_THAT(spaces.rank, ElementsAre(3, 5));
  EXPECT_EQ(time_by_op(trace), (Times{{"op of 100", 800'000}, {"op of 200", 1'600'000}}));
  const Trace rank = rank_of(trace, spaces, 1);
  EXPECT_EQ(rank.rank, 5);
  EXPECT_EQ(rank.gpu.size(), 20U);
  EXPECT_EQ(time_by_op(rank), (Times{{"op of 100", 800'000}}));
}

TEST(ProcessSpaces, OneRankIsOneSpace) {
  MergedText parallel;
  parallel.add_rank(100, {0, 1, 2, 3}, 1, 40);
  EXPECT_EQ(process_spaces(parallel.trace()).count, 1U);
  EXPECT_TRUE(process_spaces(parallel.trace()).of_thread.empty());
  EXPECT_EQ(time_by_op(parallel.trace()), (Times{{"op of 100", 800'000}}));
}

TEST(ProcessSpaces, CorrelationsMayBePartlyTheSame) {
  MergedText merged;
  merged.add_rank(100, {0}, 1, 40);
  merged.add_rank(200, {1}, 11, 80);
  const Trace trace = merged.trace();
  const std::vector<std::uint32_t> launch = launches(trace);
  for (std::size_t row = 0; row < launch.size(); ++row) {
    ASSERT_NE(launch[row], kNone);
    const bool is_first = trace.threads[trace.events.thread[trace.gpu[row].event]].pid == "0";
    EXPECT_EQ(trace.threads[trace.events.thread[launch[row]]].pid, is_first ? "100" : "200");
  }
}

/// A graph's nodes have the external id of their capture.
TEST(LaunchingOps, NodesOfAGraphAreOfItsLaunch) {
  const std::string text = R"json([
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9, "ts": 1, "dur": 5, "args": {"External id": 4}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 9, "tid": 9, "ts": 10, "dur": 5, "args": {"correlation": 1}},
    {"ph": "X", "cat": "cpu_op", "name": "replay", "pid": 9, "tid": 9, "ts": 20, "dur": 9, "args": {"External id": 5}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 9, "tid": 9, "ts": 22, "dur": 5, "args": {"correlation": 2}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 40, "dur": 5, "args": {"correlation": 3}},
    {"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 30, "dur": 1, "args": {"correlation": 1, "External id": 4}},
    {"ph": "X", "cat": "kernel", "name": "b", "pid": 0, "tid": 7, "ts": 32, "dur": 1, "args": {"correlation": 1, "External id": 4}},
    {"ph": "X", "cat": "kernel", "name": "c", "pid": 0, "tid": 7, "ts": 34, "dur": 1, "args": {"correlation": 2, "External id": 4}},
    {"ph": "X", "cat": "kernel", "name": "d", "pid": 0, "tid": 7, "ts": 50, "dur": 1, "args": {"correlation": 3, "External id": 4}}])json";
  const Trace graph = read_text(text, "graph.json");
  EXPECT_THAT(launching_ops(graph, launches(graph)), ElementsAre(kNone, kNone, 2U, 0U));
}

}  // namespace
}  // namespace headroom::trace
