// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/modules/modules.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/experiment/tensor_spec.h"
#include "headroom_torch/modules/module_case.h"

namespace headroom::torch_runner {
namespace {

/// What the command line asks for.
struct Request {
  std::vector<std::string> files;
  std::vector<TensorSpec> inputs;
};

Request parse(const std::vector<std::string>& arguments) {
  Request request;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const std::string& option = arguments[i];
    if (option != "--module" && option != "--input") {
      throw Error("headroom-torch takes --module FILE and --input SPEC, and was given " + in_quotes(option));
    }
    if (i + 1 == arguments.size()) throw Error(option + " needs a value");
    if (option == "--module") {
      request.files.push_back(arguments[i + 1]);
    } else {
      request.inputs.push_back(parse_tensor_spec(arguments[i + 1]));
    }
  }
  if (request.files.empty())
    throw Error("--input is what a module is called with: name one with --module FILE");
  return request;
}

/// The names of the files; whole paths where two have the same, and a number where even those are.
std::vector<std::string> names_of(const std::vector<std::string>& files) {
  const auto stem = [](const std::string& file) { return std::filesystem::path(file).stem().string(); };
  std::vector<std::string> names;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto same =
        std::ranges::count_if(files, [&](const std::string& file) { return stem(file) == stem(files[i]); });
    const auto earlier = std::count(files.begin(), files.begin() + static_cast<std::ptrdiff_t>(i), files[i]);
    std::string name = same == 1 ? stem(files[i]) : files[i];
    if (earlier > 0) name += "#" + std::to_string(earlier + 1);
    names.push_back(std::move(name));
  }
  return names;
}

std::string inputs_text(const std::vector<TensorSpec>& inputs) {
  std::vector<std::string> texts;
  for (const TensorSpec& input : inputs) texts.push_back(to_string(input));
  return texts.empty() ? "none" : join(texts, " ");
}

}  // namespace

void offer_modules(Registry& registry, const std::vector<std::string>& arguments) {
  const Request request = parse(arguments);
  const std::vector<std::string> names = names_of(request.files);
  auto offered = std::make_shared<OfferedModules>();
  offered->inputs = request.inputs;
  for (std::size_t i = 0; i < names.size(); ++i) {
    offered->modules.push_back(
        {names[i], request.files[i], load_module(request.files[i], request.inputs.size())});
  }
  registry.add("module", [offered](State& state) { measure_module(state, *offered); })
      .summary("programs from files, called with random inputs")
      .axis(Axis{"input", Axis::Kind::kText, {inputs_text(request.inputs)}})
      .backends(names);
}

}  // namespace headroom::torch_runner
