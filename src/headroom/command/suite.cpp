// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/files/toml_document.h"
#include "headroom/process/spawn.h"

namespace headroom {

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kCheckTimeout{60};

const SuiteOption& option_named(const Suite& suite, const std::string& name) {
  std::vector<std::string> names;
  for (const SuiteOption& option : suite.options) {
    if (option.name == name) return option;
    names.push_back(option.name);
  }
  throw Error("the suite " + quote(suite.name) + " has no option " + quote(name) + did_you_mean(name, names) +
              (names.empty() ? "; it has none" : "; it has " + join(names, ", ")));
}

const std::vector<std::string>& arguments_of(const SuiteOption& option, const std::string& value) {
  std::vector<std::string> values;
  for (const auto& [name, arguments] : option.values) {
    if (name == value) return arguments;
    values.push_back(name);
  }
  throw Error("the option " + quote(option.name) + " has no value " + quote(value) + "; it has " +
              join(values, ", "));
}

const SuiteOption* option_of_argument(const Suite& suite, std::string_view argument) {
  const auto found = std::ranges::find_if(
      suite.options, [&](const SuiteOption& option) { return "{" + option.name + "}" == argument; });
  return found == suite.options.end() ? nullptr : &*found;
}

std::string check_failure(const std::vector<std::string>& arguments) {
  CommandSpec spec;
  spec.arguments = arguments;
  spec.timeout = kCheckTimeout;
  try {
    const CommandResult result = run_command(spec);
    if (result.ok()) return "";
    return result.error_lines.empty() ? result.failure() : result.error_lines.back();
  } catch (const Error& error) {
    return error.what();
  }
}

void judge_placeholders(const std::string& text, const std::vector<std::string>& known) {
  for (const std::string& name : placeholder_names(text)) {
    if (std::ranges::find(known, name) != known.end()) continue;
    throw Error("unknown placeholder {" + name + "}" + did_you_mean(name, known) +
                "; known: " + join(known, ", ") + "; write a literal brace twice");
  }
}

struct KnownNames {
  std::vector<std::string> all;      ///< while the command runs
  std::vector<std::string> at_rest;  ///< before the command runs
};

SuiteOption parse_option(const std::string& name, const TomlTable& table, const KnownNames& known) {
  table.only({"default", "label", "values"});
  SuiteOption option{name, table.text("label", name), table.required_text("default"), {}};
  const std::optional<TomlTable> values = table.sub_table("values");
  if (!values || values->table().empty())
    table.refuse(table.table().source(), "an option needs a table 'values'");
  for (const auto& [value, node] : values->table()) {
    option.values.emplace_back(std::string(value.str()),
                               values->texts_of(node, quote(value.str()), [&](const std::string& text) {
                                 judge_placeholders(text, known.all);
                               }));
  }
  if (std::ranges::none_of(option.values,
                           [&](const auto& value) { return value.first == option.fallback; })) {
    table.refuse("default", quote(option.fallback) + " is not one of the values");
  }
  return option;
}

MetricSource parse_metric_table(const TomlTable& table) {
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
    table.refuse("from", "unknown source " + quote(from) + "; known: wall, cpu, rss, csv, json, output");
  }
  for (const char* other : {"column", "pointer", "pattern"}) {
    if (table.has(other) && other != std::string_view(key)) {
      table.refuse(other, fmt::format("'{}' cannot be used with from = \"{}\"", other, from));
    }
  }
  table.at(*table.table().get(key), [&] { check_metric(metric); });
  metric.name = table.text("name", metric.name);
  if (metric.needs_document()) {
    metric.unit = table.required_text("unit");
  } else if (table.text("unit", metric.unit) != metric.unit) {
    table.refuse("unit", "the unit of " + quote(from) + " is " + metric.unit);
  }
  if (table.flag("higher_is_better", false)) metric.direction = Direction::kHigherIsBetter;
  return metric;
}

class SuiteReader {
 public:
  SuiteReader(const TomlTable& file, Suite& suite) : file_(file), suite_(suite) {}

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
        throw Error("the cache layer " + quote(text) + " appears twice");
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
    if (suite_.models.empty()) file_.refuse("models", "no models; list them with models = [\"NAME\", ...]");
    std::vector<std::string> sorted = suite_.models;
    std::ranges::sort(sorted);
    if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end()) {
      file_.refuse("models", "the model " + quote(*twice) + " appears twice");
    }
  }

  void read_options() {
    const std::optional<TomlTable> options = file_.sub_table("options");
    if (!options) return;
    for (const auto& [name, node] : options->table()) {
      const std::string text(name.str());
      if (std::ranges::find(known_.all, text) != known_.all.end()) {
        options->refuse(name.source(),
                        quote(text) + " is a placeholder already; give the option another name");
      }
      if (!node.is_table())
        options->refuse(node.source(), "an option is a table with 'default' and 'values'");
      suite_.options.push_back(parse_option(text, TomlTable(*node.as_table(), file_.source()), known_));
    }
  }

  void read_command() {
    std::vector<std::string> names = known_.all;
    for (const SuiteOption& option : suite_.options) names.push_back(option.name);
    suite_.command = file_.texts("command", [&](const std::string& argument) {
      judge_placeholders(argument, names);
      for (const std::string& name : placeholder_names(argument)) {
        const bool is_option = std::ranges::find(known_.all, name) == known_.all.end();
        if (is_option && argument != "{" + name + "}") {
          throw Error("{" + name + "} stands for whole arguments: write it as a separate argument");
        }
      }
    });
    if (suite_.command.empty())
      file_.refuse("command", "no command; add command = [\"PROGRAM\", ...], which measures one model");
    suite_.folder = file_.text("folder");
    if (file_.has("folder"))
      file_.at(*file_.table().get("folder"), [&] { judge_placeholders(suite_.folder, known_.at_rest); });
    if (const auto environment = file_.sub_table("environment")) {
      for (const auto& [name, node] : environment->table()) {
        const std::string value = environment->text_of(node, quote(name.str()));
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
    const std::optional<TomlTable> needs = file_.sub_table("needs");
    if (!needs) return;
    needs->only({"programs", "files", "check"});
    const auto judge = [&](const std::string& text) { judge_placeholders(text, known_.at_rest); };
    suite_.needs = {needs->texts("programs", judge), needs->texts("files", judge),
                    needs->texts("check", judge)};
  }

  const TomlTable& file_;
  Suite& suite_;
  KnownNames known_;
};

}  // namespace

OptionValues option_values(const Suite& suite, const OptionValues& asked) {
  OptionValues values;
  for (const SuiteOption& option : suite.options) values[option.name] = option.fallback;
  for (const auto& [name, value] : asked) {
    arguments_of(option_named(suite, name), value);
    values[name] = value;
  }
  return values;
}

std::vector<std::string> known_placeholders(const std::vector<LayerSpec>& layers) {
  std::vector<std::string> names{"model", "output", "work", "python", "suite_dir", "here", "bin"};
  for (const LayerSpec& layer : layers) names.push_back("layer." + layer.name);
  return names;
}

std::vector<std::string> command_of(const Suite& suite, const OptionValues& chosen,
                                    const Placeholders& values) {
  std::vector<std::string> arguments;
  for (const std::string& argument : suite.command) {
    if (const SuiteOption* option = option_of_argument(suite, argument)) {
      for (const std::string& part : arguments_of(*option, chosen.at(option->name))) {
        arguments.push_back(fill_placeholders(part, values));
      }
    } else {
      arguments.push_back(fill_placeholders(argument, values));
    }
  }
  return arguments;
}

bool mentions_placeholder(const Suite& suite, std::string_view name) {
  const auto in_text = [&](const std::string& text) {
    const std::vector<std::string> names = placeholder_names(text);
    return std::ranges::find(names, name) != names.end();
  };
  const auto in_option = [&](const SuiteOption& option) {
    return std::ranges::any_of(option.values,
                               [&](const auto& value) { return std::ranges::any_of(value.second, in_text); });
  };
  return std::ranges::any_of(suite.command, in_text) || in_text(suite.folder) ||
         std::ranges::any_of(suite.options, in_option) ||
         std::ranges::any_of(suite.environment, [&](const auto& entry) { return in_text(entry.second); });
}

std::vector<std::string> lacking_for(const Suite& suite, const Placeholders& values) {
  if (mentions_placeholder(suite, "suite_dir") && !values.contains("suite_dir")) {
    return {"HEADROOM_SUITE_DIR, the folder of its program (or --pytorch DIR)"};
  }
  std::vector<std::string> lacking;
  for (const std::string& text : suite.needs.programs) {
    const std::string program = fill_placeholders(text, values);
    if (!find_program(program)) lacking.push_back("the program " + program);
  }
  for (const std::string& text : suite.needs.files) {
    const std::string file = fill_placeholders(text, values);
    std::error_code error;
    if (!fs::exists(file, error)) lacking.push_back("the file " + file);
  }
  if (!lacking.empty() || suite.needs.check.empty()) return lacking;
  std::vector<std::string> check;
  for (const std::string& text : suite.needs.check) check.push_back(fill_placeholders(text, values));
  if (std::string failure = check_failure(check); !failure.empty()) lacking.push_back(std::move(failure));
  return lacking;
}

Suite parse_suite(std::string_view text, const std::string& source, const std::filesystem::path& here) {
  const toml::table document = parse_toml(text, source);
  Suite suite;
  suite.name = std::filesystem::path(source).stem().string();
  suite.here = here;
  SuiteReader(TomlTable(document, source), suite).read();
  return suite;
}

}  // namespace headroom
