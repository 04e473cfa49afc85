// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/dispatch/dispatch_expectations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/base/toml_document.h"
#include "headroom/ranks/dispatch/shipped_dispatch_expectations.h"

namespace headroom {
namespace {

const std::vector<std::string> kKeys{"op",    "metric", "mesh",      "placements", "shape",
                                     "dtype", "us",     "tolerance", "note"};

/// The text of a key; empty where it is absent.
std::string text_of(const toml::table& table, const char* key, const std::string& source) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return {};
  if (!node->is_string()) refuse_at(node->source(), source, fmt::format("'{}' is not a string", key));
  return node->as_string()->get();
}

double number_of(const toml::node& node, const char* key, const std::string& source) {
  const std::optional<double> value = node.is_number() ? node.value<double>() : std::nullopt;
  if (!value || !std::isfinite(*value) || *value <= 0) {
    refuse_at(node.source(), source, fmt::format("'{}' is not a number above 0", key));
  }
  return *value;
}

DispatchExpectation expectation_of(const toml::table& table, const std::string& source) {
  for (const auto& [key, value] : table) {
    if (std::ranges::find(kKeys, key.str()) != kKeys.end()) continue;
    refuse_at(key.source(), source,
              "unknown key " + in_quotes(key.str()) + did_you_mean(key.str(), kKeys) +
                  "; an expectation has " + join(kKeys, ", "));
  }
  DispatchExpectation expectation;
  expectation.op = text_of(table, "op", source);
  expectation.metric = text_of(table, "metric", source);
  expectation.mesh = text_of(table, "mesh", source);
  expectation.placements = text_of(table, "placements", source);
  expectation.shape = text_of(table, "shape", source);
  expectation.dtype = text_of(table, "dtype", source);
  expectation.note = text_of(table, "note", source);
  for (const char* key : {"op", "metric", "us"}) {
    if (!table.contains(key)) refuse_at(table.source(), source, fmt::format("'{}' is missing", key));
  }
  expectation.value_us = number_of(*table.get("us"), "us", source);
  if (const toml::node* node = table.get("tolerance")) {
    expectation.tolerance = number_of(*node, "tolerance", source);
  }
  return expectation;
}

bool fits(const DispatchExpectation& expectation, const Record& record) {
  const auto is = [&](const std::string& wanted, const char* axis) {
    return wanted.empty() || wanted == axis_text(record, axis);
  };
  return record.model.name == expectation.op && record.metric.name == expectation.metric &&
         !record.samples.empty() && is(expectation.mesh, "mesh") &&
         is(expectation.placements, "placements") && is(expectation.shape, "shape") &&
         is(expectation.dtype, "dtype");
}

ExpectationVerdict::Kind kind_of(const DispatchExpectation& expectation, const Record& record) {
  using Kind = ExpectationVerdict::Kind;
  if (!record.interval) return Kind::kUnclear;
  const double most = expectation.value_us * (1 + expectation.tolerance);
  if (record.interval->low > most) return Kind::kOutside;
  if (record.interval->high > most) return Kind::kUnclear;
  const bool faster = record.interval->high < expectation.value_us * (1 - expectation.tolerance);
  return faster ? Kind::kFaster : Kind::kWithin;
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
                "the file holds [[expect]] tables, not " + in_quotes(key.str()) + " of another kind");
    }
    for (const toml::node& table : *tables) {
      expectations.push_back(expectation_of(*table.as_table(), source));
    }
  }
  return expectations;
}

std::vector<DispatchExpectation> pytorch_dispatch_expectations() {
  return parse_dispatch_expectations(kShippedDispatchExpectations, "data/dispatch_pytorch.toml");
}

std::string dispatch_expectations_toml(const std::vector<DispatchExpectation>& expectations) {
  std::string text = "# What headroom dispatch --expect holds its medians against.\n";
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

std::vector<ExpectationVerdict> judge_expectations(const std::vector<DispatchExpectation>& expectations,
                                                   const std::vector<Record>& records) {
  std::vector<ExpectationVerdict> verdicts;
  for (const DispatchExpectation& expectation : expectations) {
    ExpectationVerdict verdict;
    verdict.expectation = expectation;
    const auto found =
        std::ranges::find_if(records, [&](const Record& record) { return fits(expectation, record); });
    if (found != records.end()) {
      verdict.kind = kind_of(expectation, *found);
      verdict.record = *found;
      verdict.record->samples.clear();
    }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

std::vector<DispatchExpectation> updated_expectations(std::vector<DispatchExpectation> expectations,
                                                      const std::vector<Record>& records) {
  for (const Record& record : records) {
    // A tolerance is a share of the value.
    if (record.samples.empty() || record.metric.value <= 0) continue;
    const auto known =
        std::ranges::find_if(expectations, [&](const DispatchExpectation& e) { return fits(e, record); });
    if (known != expectations.end()) {
      known->value_us = record.metric.value;
    } else if (record.metric.name == "hit" || record.metric.name == "propagation") {
      DispatchExpectation expectation;
      expectation.op = record.model.name;
      expectation.metric = record.metric.name;
      expectation.mesh = axis_text(record, "mesh");
      expectation.placements = axis_text(record, "placements");
      expectation.shape = axis_text(record, "shape");
      expectation.dtype = axis_text(record, "dtype");
      expectation.value_us = record.metric.value;
      expectations.push_back(std::move(expectation));
    }
  }
  return expectations;
}

}  // namespace headroom
