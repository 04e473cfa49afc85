// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/modules/packaged_module.h"

#if HEADROOM_TORCH_HAS_PACKAGES
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom::torch_runner {
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

}  // namespace headroom::torch_runner
#endif
