// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/instrument.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/files/toml_document.h"

namespace headroom {
namespace {

const std::vector<std::string> kExpectationKeys{"op",    "metric", "mesh",      "placements", "shape",
                                                "dtype", "us",     "tolerance", "note"};

std::string expected_text(const toml::table& table, const char* key, const std::string& source) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return {};
  if (!node->is_string()) refuse_at(node->source(), source, fmt::format("'{}' is not a string", key));
  return node->as_string()->get();
}

double expected_number(const toml::node& node, const char* key, const std::string& source) {
  const std::optional<double> value = node.is_number() ? node.value<double>() : std::nullopt;
  if (!value || !std::isfinite(*value) || *value <= 0) {
    refuse_at(node.source(), source, fmt::format("'{}' is not a number above 0", key));
  }
  return *value;
}

DispatchExpectation expectation_of(const toml::table& table, const std::string& source) {
  for (const auto& [key, value] : table) {
    if (std::ranges::find(kExpectationKeys, key.str()) != kExpectationKeys.end()) continue;
    refuse_at(key.source(), source,
              "unknown key " + quote(key.str()) + did_you_mean(key.str(), kExpectationKeys) +
                  "; an expectation has " + join(kExpectationKeys, ", "));
  }
  DispatchExpectation expectation;
  expectation.op = expected_text(table, "op", source);
  expectation.metric = expected_text(table, "metric", source);
  expectation.mesh = expected_text(table, "mesh", source);
  expectation.placements = expected_text(table, "placements", source);
  expectation.shape = expected_text(table, "shape", source);
  expectation.dtype = expected_text(table, "dtype", source);
  expectation.note = expected_text(table, "note", source);
  for (const char* key : {"op", "metric", "us"}) {
    if (!table.contains(key)) refuse_at(table.source(), source, fmt::format("'{}' is missing", key));
  }
  expectation.value_us = expected_number(*table.get("us"), "us", source);
  if (const toml::node* node = table.get("tolerance")) {
    expectation.tolerance = expected_number(*node, "tolerance", source);
  }
  return expectation;
}

}  // namespace

std::vector<DispatchExpectation> parse_dispatch_expectations(std::string_view text,
                                                             const std::string& source) {
  const toml::table document = parse_toml(text, source);
  std::vector<DispatchExpectation> expectations;
  for (const auto& [key, node] : document) {
    const toml::array* tables = node.as_array();
    if (key.str() != "expect" || tables == nullptr || !tables->is_homogeneous(toml::node_type::table)) {
      refuse_at(key.source(), source,
                "expected only [[expect]] tables, but " + quote(key.str()) + " is not one");
    }
    for (const toml::node& table : *tables) {
      expectations.push_back(expectation_of(*table.as_table(), source));
    }
  }
  return expectations;
}

std::string dispatch_expectations_toml(const std::vector<DispatchExpectation>& expectations) {
  std::string text = "# Expected medians for headroom dispatch --expect.\n";
  for (const DispatchExpectation& expectation : expectations) {
    const std::pair<const char*, std::string> texts[] = {
        {"op", expectation.op},       {"metric", expectation.metric},
        {"mesh", expectation.mesh},   {"placements", expectation.placements},
        {"shape", expectation.shape}, {"dtype", expectation.dtype}};
    text += "\n[[expect]]\n";
    for (const auto& [key, value] : texts) {
      if (!value.empty()) text += fmt::format("{} = {}\n", key, dump_json(value));
    }
    text += fmt::format("us = {:.4g}\ntolerance = {:g}\n", expectation.value_us, expectation.tolerance);
    if (!expectation.note.empty()) text += fmt::format("note = {}\n", dump_json(expectation.note));
  }
  return text;
}

}  // namespace headroom
