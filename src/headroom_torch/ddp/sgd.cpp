// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/ddp/sgd.h"

#include <ATen/core/grad_mode.h>

#include <ATen/Parallel.h>

namespace headroom::torch_runner {
namespace {

constexpr std::int64_t kGrain = 32768;

}  // namespace

Sgd::Sgd(std::vector<Parameter> parameters, Settings settings)
    : parameters_(std::move(parameters)), settings_(settings) {
  for (const Parameter& parameter : parameters_) {
    momentum_.push_back(at::zeros_like(parameter.value.detach()));
  }
}

void Sgd::step() {
  apply({settings_.rate, settings_.momentum, 1, settings_.weight_decay});
}

void Sgd::idle_step() {
  apply({0, 1, 0, 0});
}

void Sgd::apply(const Coefficients& by) {
  const bool on_cpu = parameters_.empty() || parameters_.front().value.is_cpu();
  on_cpu && !settings_.by_operators ? apply_in_one_pass(by) : apply_by_operators(by);
}

void Sgd::apply_by_operators(const Coefficients& by) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> values, momenta, gradients;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor gradient = parameters_[i].value.grad();
    if (!gradient.defined()) continue;
    values.push_back(parameters_[i].value);
    momenta.push_back(momentum_[i]);
    gradients.push_back(gradient);
  }
  if (values.empty()) return;
  at::_foreach_mul_(momenta, by.momentum);
  at::_foreach_add_(momenta, gradients, by.gradient);
  at::_foreach_add_(momenta, values, by.weight_decay);
  at::_foreach_add_(values, momenta, -by.rate);
}

void Sgd::apply_in_one_pass(const Coefficients& by) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor gradient = parameters_[i].value.grad();
    if (!gradient.defined()) continue;
    const at::Tensor dense = gradient.contiguous();
    float* const value = parameters_[i].value.data_ptr<float>();
    float* const momentum = momentum_[i].data_ptr<float>();
    const float* const slope = dense.data_ptr<float>();
    at::parallel_for(0, dense.numel(), kGrain, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t j = begin; j < end; ++j) {
        momentum[j] = by.momentum * momentum[j] + (by.gradient * slope[j] + by.weight_decay * value[j]);
        value[j] -= by.rate * momentum[j];
      }
    });
  }
}

}  // namespace headroom::torch_runner
