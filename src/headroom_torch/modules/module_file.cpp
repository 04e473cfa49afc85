// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/modules/module_file.h"

#include <fmt/format.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <fstream>
#include <string_view>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom_torch/tensors/failure_text.h"

namespace headroom::torch_runner {
namespace {

/// A zip file lists its members at its end; those of a package lie in a folder of this name.
constexpr std::string_view kPackageFolder = "data/aotinductor/";
constexpr std::streamoff kListBytes = 1 << 20;

bool is_package(const std::string& path) {
  if (path.ends_with(".pt2")) return true;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file.tellg();
  if (size <= 0) return false;
  std::string end(static_cast<std::size_t>(std::min(size, kListBytes)), '\0');
  file.seekg(-static_cast<std::streamoff>(end.size()), std::ios::end);
  file.read(end.data(), static_cast<std::streamsize>(end.size()));
  return end.find(kPackageFolder) != std::string::npos;
}

LoadedModule load_package(const std::string& path, [[maybe_unused]] std::size_t inputs) {
#if HEADROOM_TORCH_HAS_PACKAGES
  try {
    return PackagedModule(path, inputs);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(
        fmt::format("{} is not an AOTInductor package that libtorch {} can load: {}; "
                    "torch._inductor.aoti_compile_and_package writes one",
                    in_quotes(path), kTorchVersion, failure_text(error)));
  }
#else
  throw Error(
      fmt::format("{} is an AOTInductor package: it needs libtorch 2.5 or newer, and this headroom-torch was "
                  "built with {} (docs/torch.md says how to build it with another)",
                  in_quotes(path), kTorchVersion));
#endif
}

/// Refuses a forward() that does not take `inputs` tensors, before anything is measured.
void require_inputs(const std::string& path, const torch::jit::Module& module, std::size_t inputs) {
  const auto forward = module.find_method("forward");
  if (!forward) throw Error(in_quotes(path) + " has no method forward(): there is nothing to call");
  std::vector<std::string> wanted;
  std::size_t least = 0;
  for (const c10::Argument& argument : forward->function().getSchema().arguments()) {
    if (argument.name() == "self") continue;
    wanted.push_back(argument.type()->str() + " " + argument.name());
    if (!argument.default_value()) ++least;
  }
  if (inputs >= least && inputs <= wanted.size()) return;
  throw Error(fmt::format("{}: forward({}) was given {} input{}: write an --input for each, in this order",
                          in_quotes(path), join(wanted, ", "), inputs, inputs == 1 ? "" : "s"));
}

torch::jit::Module load_script(const std::string& path) {
  try {
    torch::jit::Module module = torch::jit::load(path, at::kCPU);
    module.eval();
    return module;
  } catch (const std::exception& error) {
    throw Error(
        fmt::format("{} is not a TorchScript module that libtorch {} can read: {}; torch.jit.save writes one",
                    in_quotes(path), kTorchVersion, failure_text(error)));
  }
}

}  // namespace

LoadedModule load_module(const std::string& path, std::size_t inputs) {
  if (is_package(path)) return load_package(path, inputs);
  torch::jit::Module module = load_script(path);
  require_inputs(path, module, inputs);
  return ScriptModule(std::move(module));
}

}  // namespace headroom::torch_runner
