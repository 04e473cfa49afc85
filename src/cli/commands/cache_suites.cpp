// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/cache_suites.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "cli/shared/print_table.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/secrets.h"
#include "headroom/base/table.h"
#include "headroom/base/text.h"
#include "headroom/command/shipped_suites.h"

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;

std::string environment_or(const char* name, const std::string& fallback) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : fallback;
}

/// Where the files lie that shipped suites refer to: beside the installed program, else in the source tree.
fs::path shipped_folder() {
  const fs::path installed = this_executable().parent_path().parent_path() / "share/headroom/suites";
  std::error_code error;
  return fs::is_directory(installed, error) ? installed : fs::path(HEADROOM_SUITES_SOURCE);
}

bool is_file_name(const std::string& name) {
  return name.ends_with(".toml") || name.find('/') != std::string::npos;
}

Suite shipped_suite(const ShippedSuite& shipped) {
  return parse_suite(shipped.text, std::string(shipped.name) + ".toml", shipped_folder());
}

std::vector<std::string> layer_names(const Suite& suite) {
  std::vector<std::string> names;
  for (const LayerSpec& layer : suite.layers) names.push_back(layer.name);
  return names;
}

}  // namespace

Suite find_suite(const std::string& name) {
  if (is_file_name(name)) {
    const fs::path path(name);
    return parse_suite(read_file(path), name, fs::absolute(path).parent_path());
  }
  std::vector<std::string> names;
  for (const ShippedSuite& shipped : shipped_suites()) {
    if (shipped.name == name) return shipped_suite(shipped);
    names.emplace_back(shipped.name);
  }
  throw Error("unknown suite " + in_quotes(name) + did_you_mean(name, names) + "; there are " +
              join(names, ", ") + "; a file of yours ends in .toml");
}

Suite suite_of_command(const CacheOptions& options) {
  Suite suite;
  suite.name = "command";
  suite.benchmark = "cache";
  for (const std::string& text : options.layers) suite.layers.push_back(parse_layer(text));
  for (auto layer = suite.layers.begin(); layer != suite.layers.end(); ++layer) {
    if (std::any_of(suite.layers.begin(), layer,
                    [&](const LayerSpec& other) { return other.name == layer->name; })) {
      throw Error("--layer " + layer->name + " is there twice");
    }
  }
  suite.metric = options.metric.empty() ? parse_metric("wall") : parse_metric(options.metric);
  check_metric(suite.metric);
  if (suite.metric.needs_document()) suite.metric.unit = options.unit;
  if (suite.metric.needs_document() == options.unit.empty()) {
    throw Error(options.unit.empty()
                    ? "--metric " + options.metric + " needs its --unit, for example --unit s"
                    : "--unit is for a metric that the command writes: csv, json, output");
  }
  const std::vector<std::string> known = known_placeholders(suite.layers);
  for (const std::string& argument : options.command) {
    suite.command.push_back(escape_unknown_placeholders(argument, known));
  }
  suite.models = {options.name.empty() ? join(without_secrets(options.command), " ") : options.name};
  suite.needs.programs = {suite.command.front()};
  return suite;
}

Placeholders suite_places(const Suite& suite, const std::string& pytorch) {
  Placeholders places{{"python", environment_or("HEADROOM_PYTHON", "python3")},
                      {"bin", this_executable().parent_path().string()},
                      {"here", suite.here.string()}};
  std::string folder = environment_or("HEADROOM_SUITE_DIR", "");
  if (!pytorch.empty()) folder = (fs::path(pytorch) / "benchmarks/dynamo").string();
  if (!folder.empty()) places["suite_dir"] = fs::absolute(folder).string();
  return places;
}

ExitCode list_suites(const CacheOptions& options) {
  Table table({{"suite"}, {"models", Align::kRight}, {"cache layers"}, {"what it is"}});
  Json list = Json::array();
  for (const ShippedSuite& shipped : shipped_suites()) {
    const Suite suite = shipped_suite(shipped);
    const std::vector<std::string> lacking = lacking_for(suite, suite_places(suite, options.pytorch));
    table.row(
        {suite.name, std::to_string(suite.models.size()), join(layer_names(suite), ", "), suite.summary});
    table.line(lacking.empty() ? "  runs here" : "  lacks " + join(lacking, ", "));
    list.push_back({{"suite", suite.name},
                    {"summary", suite.summary},
                    {"models", suite.models},
                    {"layers", layer_names(suite)},
                    {"runnable", lacking.empty()},
                    {"lacking", lacking}});
  }
  if (options.json != "-") print_table(table, stdout);
  if (!options.json.empty()) {
    write_file_atomically(options.json == "-" ? "/dev/stdout" : options.json, dump_json_pretty(list) + "\n");
  }
  return ExitCode::kFine;
}

}  // namespace headroom::cli
