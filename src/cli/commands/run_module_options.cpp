// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/run_module_options.h"

#include <unistd.h>

#include <filesystem>

#include "cli/shared/option_table.h"
#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/experiment/tensor_spec.h"

namespace headroom::cli {
namespace {

std::string readable_file(const std::string& path) {
  const std::string what = "--module " + in_quotes(path);
  std::error_code problem;
  const std::filesystem::file_status status = std::filesystem::status(path, problem);
  if (!std::filesystem::exists(status)) throw Error(what + ": there is no such file");
  if (!std::filesystem::is_regular_file(status))
    throw Error(what + " is not a file: name the .pt file itself");
  if (access(path.c_str(), R_OK) != 0) throw Error(what + " cannot be read: its permissions forbid it");
  return std::filesystem::absolute(path).string();
}

}  // namespace

void declare_module_options(OptionTable& table, ModuleOptions& options) {
  table
      .add_option(
          "--module", options.modules,
          "measure the TorchScript module (.pt) or AOTInductor package (.pt2) in this file; repeat it "
          "to compare")
      .completed_by(Completes::kFile)
      .repeated();
  table
      .add_option(
          "--input", options.inputs,
          "an input of the modules, in order: f32[1,3,224,224], i64[1,128]:0..31999 (the values of integers)")
      .repeated();
}

std::vector<std::string> runner_arguments(const ModuleOptions& options) {
  if (options.modules.empty() && !options.inputs.empty()) {
    throw Error("--input is what a module is called with: name one with --module FILE");
  }
  std::vector<std::string> arguments;
  for (const std::string& module : options.modules) {
    arguments.insert(arguments.end(), {"--module", readable_file(module)});
  }
  for (const std::string& input : options.inputs) {
    arguments.insert(
        arguments.end(),
        {"--input", with_context("--input", [&] { return to_string(parse_tensor_spec(input)); })});
  }
  return arguments;
}

void select_modules(Selection& selection) {
  if (!selection.names.empty()) {
    throw Error("--module measures modules alone: leave out " + in_quotes(selection.names.front()) +
                ", or measure it in a run of its own");
  }
  selection.names = {"module"};
  if (selection.backends.empty()) selection.backends = {"all"};
}

}  // namespace headroom::cli
