// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/instrument.h"

#include <fmt/format.h>

#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/files/toml_document.h"

namespace headroom {
namespace {

const std::vector<std::string> kExpectationKeys{"op",    "metric", "mesh",      "placements", "shape",
                                                "dtype", "us",     "tolerance", "note"};

DispatchExpectation expectation_of(const TomlTable& table) {
  table.only(kExpectationKeys, "an expectation has");
  for (const char* key : {"op", "metric", "us"}) table.require(key);
  DispatchExpectation expectation;
  expectation.op = table.text("op");
  expectation.metric = table.text("metric");
  expectation.mesh = table.text("mesh");
  expectation.placements = table.text("placements");
  expectation.shape = table.text("shape");
  expectation.dtype = table.text("dtype");
  expectation.note = table.text("note");
  expectation.value_us = table.number("us");
  if (table.has("tolerance")) expectation.tolerance = table.number("tolerance");
  return expectation;
}

}  // namespace

std::vector<DispatchExpectation> parse_dispatch_expectations(std::string_view text,
                                                             const std::string& source) {
  const toml::table document = parse_toml(text, source);
  std::vector<DispatchExpectation> expectations;
  for (const auto& [key, node] : document) {
    if (key.str() != "expect" || !node.is_array_of_tables()) {
      refuse_at(key.source(), source,
                "expected only [[expect]] tables, but " + quote(key.str()) + " is not one");
    }
    for (const TomlTable& table : toml_tables(node, "expect", source))
      expectations.push_back(expectation_of(table));
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
