// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/margins.h"

#include <fmt/format.h>

#include <algorithm>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/glob.h"
#include "headroom/base/text.h"
#include "headroom/base/toml_document.h"
#include "headroom/base/units.h"
#include "headroom/record/operation_rate.h"

namespace headroom {
namespace {

const std::vector<std::string> kCaseKeys{"name", "metric", "margin"};

double require_share(double share, std::string_view text) {
  if (!(share >= 0 && share < 1)) {
    throw Error(
        fmt::format("{} is no margin: it must be from 0 up to 100 %, as 3% or 0.03", in_quotes(text)));
  }
  return share;
}

double margin_at(const toml::node& node, const std::string& source) {
  try {
    if (node.is_string()) return parse_margin(node.as_string()->get());
    if (node.is_number())
      return require_share(*node.value<double>(), fmt::format("{}", *node.value<double>()));
  } catch (const Error& error) {
    refuse_at(node.source(), source, error.what());
  }
  refuse_at(node.source(), source, "a margin is a share: \"3%\" or 0.03");
}

std::string pattern_at(const toml::table& table, const char* key, const std::string& source) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return "*";
  if (!node->is_string()) refuse_at(node->source(), source, fmt::format("'{}' is not a string", key));
  return node->as_string()->get();
}

MarginRule rule_of(const toml::table& table, const std::string& source) {
  for (const auto& [key, value] : table) {
    if (std::ranges::find(kCaseKeys, key.str()) != kCaseKeys.end()) continue;
    refuse_at(key.source(), source,
              "unknown key " + in_quotes(key.str()) + did_you_mean(key.str(), kCaseKeys) + "; a case has " +
                  join(kCaseKeys, ", "));
  }
  if (!table.contains("margin")) refuse_at(table.source(), source, "'margin' is missing");
  return {pattern_at(table, "name", source), pattern_at(table, "metric", source),
          margin_at(*table.get("margin"), source)};
}

std::vector<MarginRule> rules_at(const toml::node& node, const std::string& source) {
  const toml::array* tables = node.as_array();
  if (tables == nullptr)
    refuse_at(node.source(), source, "write [[case]], with two brackets, before each case");
  std::vector<MarginRule> rules;
  for (const toml::node& table : *tables) {
    if (!table.is_table()) refuse_at(table.source(), source, "a case is a table: write [[case]] before it");
    rules.push_back(rule_of(*table.as_table(), source));
  }
  return rules;
}

}  // namespace

double margin_of(const Margins& margins, const Record& record) {
  double margin = margins.overall;
  if (margins.rules.empty()) return margin;
  const std::string name = case_name(record);
  for (const MarginRule& rule : margins.rules) {
    const bool fits_metric =
        is_same_metric(rule.metric, record.metric.name) || fits_glob(rule.metric, record.metric.name);
    if (fits_metric && fits_glob(rule.name, name)) margin = rule.margin;
  }
  return margin;
}

GateFile parse_gate_file(std::string_view text, const std::string& source) {
  const toml::table document = parse_toml(text, source);
  GateFile file;
  for (const auto& [key, node] : document) {
    if (key.str() == "margin") {
      file.margin = margin_at(node, source);
    } else if (key.str() == "case") {
      file.rules = rules_at(node, source);
    } else {
      refuse_at(key.source(), source,
                "unknown key " + in_quotes(key.str()) + "; a gate file has margin and [[case]]");
    }
  }
  return file;
}

GateFile read_gate_file(const std::filesystem::path& path) {
  return parse_gate_file(read_file(path), path.string());
}

double parse_margin(std::string_view text) {
  return require_share(parse_share(text), text);
}

}  // namespace headroom
