// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/ddp/model.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom_torch/ddp/mlp.h"
#include "headroom_torch/ddp/resnet.h"
#include "headroom_torch/ddp/transformer.h"

namespace headroom::torch_runner {

const std::vector<ModelEntry>& model_table() {
  static const std::vector<ModelEntry> kModels{
      {"resnet18", "11.7 million parameters, basic blocks", resnet18, true},
      {"resnet50", "25.6 million parameters, bottlenecks", resnet50, true},
      {"resnet101", "44.5 million parameters, bottlenecks", resnet101, true},
      {"resnext50_32x4d", "25.0 million parameters, 32 groups of 4 channels", resnext50_32x4d, true},
      {"resnext101_32x8d", "88.8 million parameters, 32 groups of 8 channels", resnext101_32x8d, true},
      {"mlp", "5.2 million parameters: five layers of 1024, little to compute for what is to reduce", mlp},
      {"transformer", "3.7 million parameters: four layers of 256, 64 tokens", transformer},
  };
  return kModels;
}

std::unique_ptr<Model> make_model(std::string_view name, std::uint64_t seed) {
  const auto& table = model_table();
  const auto found = std::ranges::find_if(table, [&](const ModelEntry& entry) { return name == entry.name; });
  if (found != table.end()) return found->make(seed);
  std::vector<std::string> names;
  for (const ModelEntry& entry : table) names.emplace_back(entry.name);
  throw Error("no model " + in_quotes(name) + did_you_mean(name, names) + "; there are " + join(names, ", "));
}

void Model::move_to(c10::Device device) {
  if (device.is_cpu()) return;  // they were made there, and never come back
  const at::NoGradGuard no_grad;
  for (const Parameter& parameter : parameters_) parameter.value.set_data(parameter.value.to(device));
  for (const at::Tensor& buffer : buffers_) buffer.set_data(buffer.to(device));
}

void drop_gradients(const Model& model) {
  for (const Parameter& parameter : model.parameters()) parameter.value.mutable_grad() = at::Tensor();
}

std::int64_t parameter_count(const Model& model) {
  std::int64_t count = 0;
  for (const Parameter& parameter : model.parameters()) count += parameter.value.numel();
  return count;
}

}  // namespace headroom::torch_runner
