// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/modules/module_file.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom::torch_runner {
namespace {

constexpr const char* kSource = "the call spec of the package";

std::size_t count_leaves(const Json& tree) {
  if (json_member(tree, "type", kSource).is_null()) return 1;
  std::size_t leaves = 0;
  for (const Json& child : json_array(tree, "children_spec", kSource)) leaves += count_leaves(child);
  return leaves;
}

/// Takes the leaves of `tree` from the front of `leaves`.
c10::IValue take(const Json& tree, std::span<const at::Tensor>& leaves) {
  if (tree.at("type").is_null()) {
    c10::IValue leaf(leaves.front());
    leaves = leaves.subspan(1);
    return leaf;
  }
  std::vector<c10::IValue> children;
  for (const Json& child : tree.at("children_spec")) children.push_back(take(child, leaves));
  return c10::ivalue::Tuple::create(std::move(children));
}

}  // namespace

CallSpec::CallSpec(const std::string& text) {
  const Json document = parse_json(text, kSource);
  if (!document.is_array() || document.size() != 2) {
    throw Error(std::string(kSource) + ": expected [1, {\"type\": ...}], found " + text.substr(0, 80));
  }
  tree_ = document[1];
  size_ = count_leaves(tree_);
}

c10::IValue CallSpec::arranged(const std::vector<at::Tensor>& leaves) const {
  std::span<const at::Tensor> rest(leaves);
  if (leaves.size() == size_) return take(tree_, rest);
  return c10::ivalue::Tuple::create(std::vector<c10::IValue>(leaves.begin(), leaves.end()));
}

#if HEADROOM_TORCH_HAS_PACKAGES

namespace {

/// Loads the libtorch.so beside the libtorch_cpu.so of this process. The code in a package asks for it, and
/// programs that stand on the CPU part alone have none: the system's would come, of another libtorch, and
/// crash both. Throws where there is one and it cannot be loaded.
void load_whole_libtorch() {
  Dl_info part{};
  if (::dladdr(reinterpret_cast<const void*>(&at::get_num_threads), &part) == 0) return;
  const std::filesystem::path whole = std::filesystem::path(part.dli_fname).parent_path() / "libtorch.so";
  if (!std::filesystem::exists(whole)) return;
  if (::dlopen(whole.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) throw std::runtime_error(::dlerror());
}

std::unique_ptr<torch::inductor::AOTIModelPackageLoader> load(const std::string& path) {
  load_whole_libtorch();
  return std::make_unique<torch::inductor::AOTIModelPackageLoader>(path);
}

/// With this in the environment a package compares its inputs with those that it was compiled for. It looks
/// once, at its first call.
constexpr const char* kChecks = "AOTI_RUNTIME_CHECK_INPUTS";

/// Sets the variable while it lives, unless the user has.
class ChecksOfInputs {
 public:
  ChecksOfInputs() : set_here_(std::getenv(kChecks) == nullptr) {
    if (set_here_) ::setenv(kChecks, "1", 1);
  }
  ~ChecksOfInputs() {
    if (set_here_) ::unsetenv(kChecks);
  }
  ChecksOfInputs(const ChecksOfInputs&) = delete;
  ChecksOfInputs& operator=(const ChecksOfInputs&) = delete;

 private:
  bool set_here_;
};

/// Of the arguments (0) or the results (1); none where the package was made without.
std::optional<CallSpec> spec_of(const std::vector<std::string>& specs, std::size_t which) {
  if (which >= specs.size() || specs[which].empty()) return std::nullopt;
  return CallSpec(specs[which]);
}

}  // namespace

PackagedModule::PackagedModule(const std::string& path, std::size_t inputs)
    : path_(path), loader_(load(path)) {
  const std::vector<std::string> specs = loader_->get_call_spec();
  const auto spec = [&](std::size_t which) {
    return with_context(in_quotes(path), [&] { return spec_of(specs, which); });
  };
  results_ = spec(1);
  const std::optional<CallSpec> arguments = spec(0);
  if (!arguments || arguments->size() == inputs) return;
  throw Error(fmt::format("{} takes {} input{} and was given {}: write an --input for each, in their order",
                          in_quotes(path), arguments->size(), arguments->size() == 1 ? "" : "s", inputs));
}

c10::IValue PackagedModule::value_of(const Results& results) const {
  if (results_) return results_->arranged(results);
  return results.size() == 1 ? c10::IValue(results.front()) : c10::IValue(results);
}

void PackagedModule::require(const Inputs& inputs) const {
  // The code that is measured has not looked at the environment, and so does not compare at each call.
  const ChecksOfInputs checks;
  torch::inductor::AOTIModelPackageLoader(path_).run(inputs);
}

#endif

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
