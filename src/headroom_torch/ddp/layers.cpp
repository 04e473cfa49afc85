// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/ddp/layers.h"

#include <ATen/CPUGeneratorImpl.h>

#include <cmath>

namespace headroom::torch_runner {

at::Generator seeded(std::uint64_t seed) {
  return at::detail::createCPUGenerator(seed);
}

LayerMaker::LayerMaker(std::vector<Parameter>& parameters, std::vector<at::Tensor>& buffers,
                       std::uint64_t seed)
    : parameters_(parameters), buffers_(buffers), generator_(seeded(seed)) {}

at::Tensor LayerMaker::buffer(at::Tensor value) {
  buffers_.push_back(value);
  return value;
}

at::Tensor LayerMaker::add(const std::string& name, at::Tensor value) {
  value.requires_grad_(true);
  parameters_.push_back({name, value});
  return value;
}

at::Tensor LayerMaker::normal(const std::string& name, at::IntArrayRef sizes, double deviation) {
  return add(name, at::randn(sizes, generator_, at::TensorOptions(at::kFloat)).mul_(deviation));
}

at::Tensor LayerMaker::uniform(const std::string& name, at::IntArrayRef sizes, double bound) {
  return add(name, at::rand(sizes, generator_, at::TensorOptions(at::kFloat)).sub_(0.5).mul_(2 * bound));
}

Convolution::Convolution(LayerMaker& maker, const std::string& name, std::int64_t in, std::int64_t out,
                         std::int64_t kernel, std::int64_t stride_, std::int64_t groups_)
    : stride(stride_), padding(kernel / 2), groups(groups_) {
  // Kaiming's normal values by the fan out, as torchvision's ResNet has it.
  const double deviation = std::sqrt(2.0 / static_cast<double>(out * kernel * kernel));
  weight = maker.normal(name + ".weight", {out, in / groups, kernel, kernel}, deviation);
}

at::Tensor Convolution::operator()(const at::Tensor& x) const {
  return at::conv2d(x, weight, {}, {stride, stride}, {padding, padding}, {1, 1}, groups);
}

BatchNorm::BatchNorm(LayerMaker& maker, const std::string& name, std::int64_t channels)
    : weight(maker.add(name + ".weight", at::ones({channels}, at::kFloat))),
      bias(maker.add(name + ".bias", at::zeros({channels}, at::kFloat))),
      mean(maker.buffer(at::zeros({channels}, at::kFloat))),
      variance(maker.buffer(at::ones({channels}, at::kFloat))) {}

at::Tensor BatchNorm::operator()(const at::Tensor& x, bool training) const {
  return at::batch_norm(x, weight, bias, mean, variance, training, 0.1, 1e-5, true);
}

Linear::Linear(LayerMaker& maker, const std::string& name, std::int64_t in, std::int64_t out) {
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  weight = maker.uniform(name + ".weight", {out, in}, bound);
  bias = maker.uniform(name + ".bias", {out}, bound);
}

LayerNorm::LayerNorm(LayerMaker& maker, const std::string& name, std::int64_t size)
    : weight(maker.add(name + ".weight", at::ones({size}, at::kFloat))),
      bias(maker.add(name + ".bias", at::zeros({size}, at::kFloat))) {}

}  // namespace headroom::torch_runner
