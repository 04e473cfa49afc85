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

struct SuiteOption {
  std::string name;
  std::string label;  ///< name in result files
  std::string fallback;
  std::vector<std::pair<std::string, std::vector<std::string>>> values;
};

using OptionValues = std::map<std::string, std::string>;

/// Each model is measured by one command with cold and warm caches. Format: docs/reference/cache-suites.md.
struct Suite {
  std::string name;
  std::string summary;
  std::filesystem::path here;  ///< folder of the suite file; may be empty
  std::string benchmark;       ///< name in result files
  std::string backend;
  std::vector<std::string> models;
  bool any_model = false;
  std::vector<std::string> command;
  std::string folder;  ///< working directory; empty: ours
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<SuiteOption> options;
  std::vector<LayerSpec> layers;
  MetricSource metric;
  double timeout_s = 2000;
  std::size_t repeat = 6;
  bool random_order = true;  ///< else model after model

  struct Needs {
    std::vector<std::string> programs;  ///< searched in PATH
    std::vector<std::string> files;
    std::vector<std::string> check;  ///< fails with the reason if the suite cannot run
  } needs;
};

/// The name is the stem of `source`. Throws Error with line and column.
Suite parse_suite(std::string_view text, const std::string& source, const std::filesystem::path& here);

/// Completes the options. Throws Error for an unknown option or value.
OptionValues option_values(const Suite& suite, const OptionValues& asked);

/// Built-in names, layer.NAME included.
std::vector<std::string> known_placeholders(const std::vector<LayerSpec>& layers);

std::vector<std::string> command_of(const Suite& suite, const OptionValues& chosen,
                                    const Placeholders& values);

bool mentions_placeholder(const Suite& suite, std::string_view name);

/// Returns all that this machine lacks, a phrase each. The check command may take a minute. `values` has
/// python, here, bin, and suite_dir if known.
std::vector<std::string> lacking_for(const Suite& suite, const Placeholders& values);

struct ShippedSuite {
  std::string_view name;
  std::string_view text;
};

/// The embedded suites/*.toml. {here} is the installation folder or source tree.
std::span<const ShippedSuite> shipped_suites();

}  // namespace headroom
