// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "headroom_torch/ddp/model.h"

namespace headroom::torch_runner {

/// Adds parameters and buffers to lists, initialised as PyTorch's layers are.
class LayerMaker {
 public:
  LayerMaker(std::vector<Parameter>& parameters, std::vector<at::Tensor>& buffers, std::uint64_t seed);

  /// Values as they are.
  at::Tensor add(const std::string& name, at::Tensor value);
  /// What is no parameter.
  at::Tensor buffer(at::Tensor value);
  /// Normal with the standard deviation `deviation`.
  at::Tensor normal(const std::string& name, at::IntArrayRef sizes, double deviation);
  /// Uniform in [-bound, bound).
  at::Tensor uniform(const std::string& name, at::IntArrayRef sizes, double bound);

 private:
  std::vector<Parameter>& parameters_;
  std::vector<at::Tensor>& buffers_;
  at::Generator generator_;
};

/// A generator of random numbers on the CPU.
at::Generator seeded(std::uint64_t seed);

/// Square kernels, no bias: [out, in / groups, kernel, kernel].
struct Convolution {
  Convolution() = default;
  Convolution(LayerMaker& maker, const std::string& name, std::int64_t in, std::int64_t out,
              std::int64_t kernel, std::int64_t stride, std::int64_t groups = 1);
  /// [n, in, h, w] -> [n, out, h', w'], padded by half the kernel.
  at::Tensor operator()(const at::Tensor& x) const;

  at::Tensor weight;
  std::int64_t stride = 1, padding = 0, groups = 1;
};

/// Over the channels of [n, channels, h, w].
struct BatchNorm {
  BatchNorm() = default;
  BatchNorm(LayerMaker& maker, const std::string& name, std::int64_t channels);
  at::Tensor operator()(const at::Tensor& x, bool training) const;

  at::Tensor weight, bias, mean, variance;
};

struct Linear {
  Linear() = default;
  Linear(LayerMaker& maker, const std::string& name, std::int64_t in, std::int64_t out);
  /// [..., in] -> [..., out].
  at::Tensor operator()(const at::Tensor& x) const { return at::linear(x, weight, bias); }

  at::Tensor weight, bias;
};

/// Over the last dimension.
struct LayerNorm {
  LayerNorm() = default;
  LayerNorm(LayerMaker& maker, const std::string& name, std::int64_t size);
  at::Tensor operator()(const at::Tensor& x) const { return at::layer_norm(x, weight.sizes(), weight, bias); }

  at::Tensor weight, bias;
};

}  // namespace headroom::torch_runner
