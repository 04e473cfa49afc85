// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/command/suite.h"
#include "headroom/command/suite_table.h"

namespace headroom {
namespace {

void judge_placeholders(const std::string& text, const Texts& known) {
  for (const std::string& name : placeholder_names(text)) {
    if (std::ranges::find(known, name) != known.end()) continue;
    throw Error("unknown placeholder {" + name + "}" + did_you_mean(name, known) + "; known are " +
                join(known, ", ") + "; a plain brace is written twice");
  }
}

/// Those of all the keys of options that a command may use, and what may stand in other texts of the suite.
struct KnownNames {
  Texts all;      ///< while the command runs
  Texts at_rest;  ///< before anything runs
};

SuiteOption parse_option(const std::string& name, const SuiteTable& table, const KnownNames& known) {
  table.only({"default", "label", "values"});
  SuiteOption option{name, table.text("label", name), table.required_text("default"), {}};
  const std::optional<SuiteTable> values = table.sub_table("values");
  if (!values || values->table().empty())
    table.refuse(table.table().source(), "an option needs a table 'values'");
  for (const auto& [value, node] : values->table()) {
    option.values.emplace_back(std::string(value.str()),
                               values->texts_of(node, in_quotes(value.str()), [&](const std::string& text) {
                                 judge_placeholders(text, known.all);
                               }));
  }
  if (std::ranges::none_of(option.values,
                           [&](const auto& value) { return value.first == option.fallback; })) {
    table.refuse("default", in_quotes(option.fallback) + " is none of the values");
  }
  return option;
}

MetricSource parse_metric_table(const SuiteTable& table) {
  table.only({"from", "column", "pointer", "pattern", "name", "unit", "higher_is_better"});
  const std::string from = table.required_text("from");
  const auto keyed = [&](const char* kind, const char* key) {
    return parse_metric(std::string(kind) + ":" + table.required_text(key));
  };
  MetricSource metric;
  const char* key = "from";
  if (from == "csv") {
    metric = keyed("csv", key = "column");
  } else if (from == "json") {
    metric = keyed("json", key = "pointer");
  } else if (from == "output") {
    metric = keyed("output", key = "pattern");
  } else if (from == "wall" || from == "cpu" || from == "rss") {
    metric = parse_metric(from);
  } else {
    table.refuse("from",
                 "unknown source " + in_quotes(from) + "; known are wall, cpu, rss, csv, json, output");
  }
  for (const char* other : {"column", "pointer", "pattern"}) {
    if (table.has(other) && other != std::string_view(key)) {
      table.refuse(other, fmt::format("'{}' has no meaning where from = \"{}\"", other, from));
    }
  }
  table.at(*table.table().get(key), [&] { check_metric(metric); });
  metric.name = table.text("name", metric.name);
  if (metric.needs_document()) {
    metric.unit = table.required_text("unit");
  } else if (table.text("unit", metric.unit) != metric.unit) {
    table.refuse("unit", "the unit of " + in_quotes(from) + " is " + metric.unit);
  }
  if (table.flag("higher_is_better", false)) metric.direction = Direction::kHigherIsBetter;
  return metric;
}

/// Reads the file into a Suite, in the order in which later parts need earlier ones.
class SuiteReader {
 public:
  SuiteReader(const SuiteTable& file, Suite& suite) : file_(file), suite_(suite) {}

  void read() {
    file_.only({"summary", "benchmark", "backend", "models", "any_model", "command", "folder", "environment",
                "options", "layers", "metric", "timeout", "repeat", "order", "needs"});
    read_layers();
    known_.all = known_placeholders(suite_.layers);
    known_.at_rest = {"python", "suite_dir", "here", "bin"};
    read_names();
    read_options();
    read_command();
    read_running();
    read_needs();
  }

 private:
  void read_layers() {
    file_.texts("layers", [&](const std::string& text) {
      LayerSpec layer = parse_layer(fill_placeholders(text, {{"here", suite_.here.string()}}));
      if (std::ranges::any_of(suite_.layers,
                              [&](const LayerSpec& other) { return other.name == layer.name; })) {
        throw Error("the cache layer " + in_quotes(text) + " is there twice");
      }
      suite_.layers.push_back(std::move(layer));
    });
    if (suite_.layers.empty()) {
      file_.refuse("layers", "no 'layers': without a cache to clear, cold and warm are the same");
    }
  }

  void read_names() {
    suite_.summary = file_.text("summary");
    suite_.benchmark = file_.text("benchmark", "cache");
    suite_.backend = file_.text("backend");
    suite_.any_model = file_.flag("any_model", false);
    suite_.models = file_.texts("models", [](const std::string& model) {
      if (model.empty()) throw Error("the name of a model is empty");
    });
    if (suite_.models.empty())
      file_.refuse("models", "no models; models = [\"NAME\", ...] says what is measured");
    Texts sorted = suite_.models;
    std::ranges::sort(sorted);
    if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end()) {
      file_.refuse("models", "the model " + in_quotes(*twice) + " is there twice");
    }
  }

  void read_options() {
    const std::optional<SuiteTable> options = file_.sub_table("options");
    if (!options) return;
    for (const auto& [name, node] : options->table()) {
      const std::string text(name.str());
      if (std::ranges::find(known_.all, text) != known_.all.end()) {
        options->refuse(name.source(),
                        in_quotes(text) + " is a placeholder already; give the option another name");
      }
      if (!node.is_table())
        options->refuse(node.source(), "an option is a table with 'default' and 'values'");
      suite_.options.push_back(parse_option(text, SuiteTable(*node.as_table(), file_.source()), known_));
    }
  }

  void read_command() {
    Texts names = known_.all;
    for (const SuiteOption& option : suite_.options) names.push_back(option.name);
    suite_.command = file_.texts("command", [&](const std::string& argument) {
      judge_placeholders(argument, names);
      for (const std::string& name : placeholder_names(argument)) {
        const bool is_option = std::ranges::find(known_.all, name) == known_.all.end();
        if (is_option && argument != "{" + name + "}") {
          throw Error("{" + name + "} stands for whole arguments: it must be one of its own");
        }
      }
    });
    if (suite_.command.empty())
      file_.refuse("command", "no command; command = [\"PROGRAM\", ...] measures one model");
    suite_.folder = file_.text("folder");
    if (file_.has("folder"))
      file_.at(*file_.table().get("folder"), [&] { judge_placeholders(suite_.folder, known_.at_rest); });
    if (const auto environment = file_.sub_table("environment")) {
      for (const auto& [name, node] : environment->table()) {
        const std::string value = environment->text_of(node, in_quotes(name.str()));
        environment->at(node, [&] { judge_placeholders(value, known_.all); });
        suite_.environment.emplace_back(std::string(name.str()), value);
      }
    }
  }

  void read_running() {
    if (const auto metric = file_.sub_table("metric")) {
      suite_.metric = parse_metric_table(*metric);
    } else {
      suite_.metric = parse_metric("wall");
    }
    if (file_.has("timeout")) {
      const std::string text = file_.required_text("timeout");
      suite_.timeout_s = file_.at(*file_.table().get("timeout"), [&] { return parse_time_ns(text) / 1e9; });
      if (suite_.timeout_s <= 0) file_.refuse("timeout", "'timeout' is not above 0");
    }
    suite_.repeat = static_cast<std::size_t>(file_.count("repeat", 6));
    const std::string order = file_.text("order", "random");
    if (order != "random" && order != "listed")
      file_.refuse("order", "'order' is neither \"random\" nor \"listed\"");
    suite_.random_order = order == "random";
  }

  void read_needs() {
    const std::optional<SuiteTable> needs = file_.sub_table("needs");
    if (!needs) return;
    needs->only({"programs", "files", "check"});
    const auto judge = [&](const std::string& text) { judge_placeholders(text, known_.at_rest); };
    suite_.needs = {needs->texts("programs", judge), needs->texts("files", judge),
                    needs->texts("check", judge)};
  }

  const SuiteTable& file_;
  Suite& suite_;
  KnownNames known_;
};

}  // namespace

Suite parse_suite(std::string_view text, const std::string& source, const std::filesystem::path& here) {
  const toml::table document = parse_toml(text, source);
  Suite suite;
  suite.name = std::filesystem::path(source).stem().string();
  suite.here = here;
  SuiteReader(SuiteTable(document, source), suite).read();
  return suite;
}

}  // namespace headroom
