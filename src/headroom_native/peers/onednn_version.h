// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <optional>

/// What is said otherwise in oneDNN 2 and in 3: 3 has no descriptors of operations, its primitives'
/// descriptors are made of what those held.
namespace headroom::native {

inline dnnl::matmul::primitive_desc describe_matmul(const dnnl::engine& engine,
                                                    const dnnl::memory::desc& source,
                                                    const dnnl::memory::desc& weights,
                                                    const std::optional<dnnl::memory::desc>& bias,
                                                    const dnnl::memory::desc& target) {
  using dnnl::matmul;
#if DNNL_VERSION_MAJOR >= 3
  if (bias) return matmul::primitive_desc(engine, source, weights, *bias, target);
  return matmul::primitive_desc(engine, source, weights, target);
#else
  if (bias) return matmul::primitive_desc(matmul::desc(source, weights, *bias, target), engine);
  return matmul::primitive_desc(matmul::desc(source, weights, target), engine);
#endif
}

/// Of x and y of one shape and type.
inline dnnl::layer_normalization_forward::primitive_desc describe_layer_norm(
    const dnnl::engine& engine, const dnnl::memory::desc& values, float epsilon,
    dnnl::normalization_flags flags) {
  using dnnl::layer_normalization_forward;
  constexpr auto kInference = dnnl::prop_kind::forward_inference;
#if DNNL_VERSION_MAJOR >= 3
  return layer_normalization_forward::primitive_desc(engine, kInference, values, values, epsilon, flags);
#else
  return layer_normalization_forward::primitive_desc(
      layer_normalization_forward::desc(kInference, values, epsilon, flags), engine);
#endif
}

}  // namespace headroom::native
