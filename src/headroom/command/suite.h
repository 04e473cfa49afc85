// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headroom/command/layer_spec.h"
#include "headroom/command/metric_source.h"
#include "headroom/command/placeholders.h"

namespace headroom {

/// A choice that the user has, and the arguments that each value stands for.
struct SuiteOption {
  std::string name;      ///< of the placeholder and of --set
  std::string label;     ///< what files of results call it
  std::string fallback;  ///< the value where none is asked for
  std::vector<std::pair<std::string, std::vector<std::string>>> values;
};

using OptionValues = std::map<std::string, std::string>;

/// Models, each measured by one command, with cold caches and with warm ones. docs/cache.md tells the file.
struct Suite {
  std::string name;
  std::string summary;
  std::filesystem::path here;  ///< the folder of its file; empty where it has none
  std::string benchmark;       ///< what files of results call it
  std::string backend;
  std::vector<std::string> models;
  bool any_model = false;  ///< whether a model that is not listed may be asked for
  std::vector<std::string> command;
  std::string folder;  ///< where the command runs; empty: where we are
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<SuiteOption> options;
  std::vector<LayerSpec> layers;
  MetricSource metric;
  double timeout_s = 2000;
  std::size_t repeat = 6;
  bool random_order = true;  ///< models of a round in random order; else model after model, as listed

  struct Needs {
    std::vector<std::string> programs;  ///< looked up in PATH
    std::vector<std::string> files;
    std::vector<std::string>
        check;  ///< a command that succeeds where the suite runs, else says what is lacking
  } needs;
};

/// Reads a suite file. `source` is its path, whose stem is the suite's name. Throws Error with line and
/// column: not TOML, a key that is unknown or missing, a value of the wrong type, no models, a placeholder
/// that nothing stands for.
Suite parse_suite(std::string_view text, const std::string& source, const std::filesystem::path& here);

/// The value of every option: those asked for, else the fallbacks. Throws Error for an option or a value that
/// the suite does not have.
OptionValues option_values(const Suite& suite, const OptionValues& asked);

/// The names that a command of the suite may use beside its options: model, output, work, python, suite_dir,
/// here, bin, and layer.NAME.
std::vector<std::string> known_placeholders(const std::vector<LayerSpec>& layers);

/// The command with the arguments of the chosen values put in and the placeholders filled.
std::vector<std::string> command_of(const Suite& suite, const OptionValues& chosen,
                                    const Placeholders& values);

/// Whether the command, or its environment, mentions a placeholder.
bool mentions_placeholder(const Suite& suite, std::string_view name);

/// What this machine lacks for the suite to run, a phrase each; empty where it can. Runs the check, at most a
/// minute. `values` has python, here, bin, and suite_dir where that is known.
std::vector<std::string> lacking_for(const Suite& suite, const Placeholders& values);

}  // namespace headroom
