// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headroom/command/cache_layer.h"
#include "headroom/command/command_line.h"
#include "headroom/command/measured_command.h"

namespace headroom {

/// A user option, with the arguments of each value.
struct SuiteOption {
  std::string name;      ///< name in placeholders and in --set
  std::string label;     ///< what files of results call it
  std::string fallback;  ///< default value
  std::vector<std::pair<std::string, std::vector<std::string>>> values;
};

using OptionValues = std::map<std::string, std::string>;

/// Models, each measured by one command with cold and with warm caches. File format: docs/cache.md.
struct Suite {
  std::string name;
  std::string summary;
  std::filesystem::path here;  ///< folder of the suite file, or empty
  std::string benchmark;       ///< what files of results call it
  std::string backend;
  std::vector<std::string> models;
  bool any_model = false;  ///< accepts models that are not listed
  std::vector<std::string> command;
  std::string folder;  ///< working directory of the command; empty: ours
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<SuiteOption> options;
  std::vector<LayerSpec> layers;
  MetricSource metric;
  double timeout_s = 2000;
  std::size_t repeat = 6;
  bool random_order = true;  ///< random model order within rounds, else model after model as listed

  struct Needs {
    std::vector<std::string> programs;  ///< searched in PATH
    std::vector<std::string> files;
    std::vector<std::string>
        check;  ///< command that succeeds if the suite can run, else prints what is missing
  } needs;
};

/// Parses a suite file. `source` is its path, whose stem is the suite's name. Throws Error with line and
/// column: not TOML, unknown or missing key, wrong type, no models, unknown placeholder.
Suite parse_suite(std::string_view text, const std::string& source, const std::filesystem::path& here);

/// Returns a value for every option: requested ones, else defaults. Throws Error for an option or a value
/// that the suite does not have.
OptionValues option_values(const Suite& suite, const OptionValues& asked);

/// Returns the placeholder names besides the options: model, output, work, python, suite_dir, here, bin, and
/// layer.NAME.
std::vector<std::string> known_placeholders(const std::vector<LayerSpec>& layers);

/// Returns the command with the arguments of the chosen values, placeholders filled.
std::vector<std::string> command_of(const Suite& suite, const OptionValues& chosen,
                                    const Placeholders& values);

/// Whether the command or its environment contains a placeholder.
bool mentions_placeholder(const Suite& suite, std::string_view name);

/// Returns what this machine lacks for the suite, a phrase each. Runs the check command for at most a minute.
/// `values` has python, here, bin, and suite_dir if known.
std::vector<std::string> lacking_for(const Suite& suite, const Placeholders& values);

struct ShippedSuite {
  std::string_view name;
  std::string_view text;
};

/// The files of suites/, embedded at build time. Their {here} is the installation folder or the source tree.
std::span<const ShippedSuite> shipped_suites();

}  // namespace headroom
