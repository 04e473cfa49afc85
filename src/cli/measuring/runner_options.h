// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headroom/experiment/experiment.h"
#include "headroom/schedule/session.h"

namespace headroom::cli {

class OptionTable;

/// --layers, --prompt-len and --max-new-tokens: gpt-fast's names for axes of the models; 0: not given.
/// --model and what goes with it: decoding with a model of the user's.
struct ModelOptions {
  std::int64_t layers = 0, prompt_len = 0, max_new_tokens = 0;
  std::string model, tokens;
  std::string batch, context, draft;  ///< "1,8,64"
};

void declare_model_options(OptionTable& table, ModelOptions& options);

/// Those that were given, as what was asked of the axes. Throws Error.
std::vector<AxisRequest> axis_requests(const ModelOptions& options);

/// The arguments for a runner that reads models: the path in full, the ids of the prompt. Throws Error: a
/// file that is missing, ids without a model or that are no numbers.
std::vector<std::string> runner_arguments(const ModelOptions& options);

/// Makes "llm", or nothing, the experiments of the model. Throws Error where one of them is named without a
/// model, or a model beside other experiments.
void select_model(const ModelOptions& options, Selection& selection);

class OptionTable;

/// --module and --input as they were given: programs from files, and what they are called with.
struct ModuleOptions {
  std::vector<std::string> modules;
  std::vector<std::string> inputs;
};

void declare_module_options(OptionTable& table, ModuleOptions& options);

/// The arguments for a runner that reads modules: each path in full, each input checked. Throws Error: a file
/// that is missing or no file, an input that does not parse, inputs without a module.
std::vector<std::string> runner_arguments(const ModuleOptions& options);

/// Makes `selection` that of the modules: one experiment, "module", whose backends they are. Throws Error
/// where an experiment was named too.
void select_modules(Selection& selection);

class OptionTable;

/// --peer PATH:SYMBOL[,name=NAME][,dtype=bf16|int8][,threads=own]: functions of shared libraries, each a
/// backend of headroom-native.
void declare_peer_options(OptionTable& table, std::vector<std::string>& peers);

/// Adds the backends of `peers` to those that are asked for: without any beside "native". Throws Error: one
/// that is no PATH:SYMBOL, a file that is missing.
void select_peers(const std::vector<std::string>& peers, Selection& selection);

/// The backends by which runners are found: those of peers are headroom-native's.
std::vector<std::string> backends_of_runners(const std::vector<std::string>& peers,
                                             std::vector<std::string> backends);

/// Whether the program at `path` loads peers: headroom-native, of whatever build.
bool takes_peers(const std::string& path);

/// Adds them, with their paths in full, to what headroom-native is started with.
void add_peer_arguments(const std::vector<std::string>& peers, std::vector<std::string>& arguments);

/// Throws Error where there are peers and none of the runners (paths) takes them.
void require_peers_taken(const std::vector<std::string>& peers, const std::vector<std::string>& runners);

}  // namespace headroom::cli
