// SPDX-License-Identifier: Apache-2.0
// torch_module_files FOLDER: TorchScript modules of torch_modules_test.py
#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>

#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace {

using Parameters = std::vector<std::pair<std::string, at::Tensor>>;

void save(const std::string& folder, const std::string& name, const std::string& source,
          const Parameters& parameters = {}) {
  torch::jit::Module module(name);
  for (const auto& [key, value] : parameters) module.register_parameter(key, value, false);
  if (!source.empty()) module.define(source);
  module.save(folder + "/" + name + ".pt");
}

void save_all(const std::string& folder) {
  const auto ones = [](at::IntArrayRef sizes) { return at::full(sizes, 0.01); };
  // 2 * 4*16*32 + 2 * 4*32*8 FLOPs for four rows.
  const Parameters layers{{"up", ones({16, 32})}, {"down", ones({32, 8})}};
  save(folder, "layers", R"(
def forward(self, x):
    return torch.mm(torch.relu(torch.mm(x, self.up)), self.down)
)",
       layers);
  save(folder, "layers_twice", R"(
def forward(self, x):
    y = torch.mm(torch.relu(torch.mm(x * 2.0, self.up)), self.down)
    return (torch.mm(torch.relu(torch.mm(x, self.up)), self.down) + y * 0.5) * 0.5
)",
       layers);
  // Output [1, 4, 6, 6] of kernels [4, 2, 3, 3]: 2 * 36 * 4*2*3*3 FLOPs.
  save(folder, "convolution", R"(
def forward(self, x):
    return torch.conv2d(x, self.weight, None, [1, 1], [0, 0], [1, 1], 1)
)",
       {{"weight", ones({4, 2, 3, 3})}});
  save(folder, "embedding", R"(
def forward(self, tokens):
    return {"rows": torch.embedding(self.table, tokens), "tokens": tokens}
)",
       {{"table", ones({100, 8})}});
  save(folder, "two_inputs", "def forward(self, x, y):\n    return torch.bmm(x, y), x\n");
  save(folder, "random", "def forward(self, x):\n    return x + torch.rand_like(x)\n");
  save(folder, "nan", "def forward(self, x):\n    return torch.log(x - 1000.0)\n");
  save(folder, "throws", "def forward(self, x):\n    return x.view([7, 7, 7])\n");
  save(folder, "no_forward", "def other(self, x):\n    return x\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    save_all(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
