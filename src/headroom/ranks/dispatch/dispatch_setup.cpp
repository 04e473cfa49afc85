// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/dispatch/dispatch_setup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <numeric>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

constexpr int kMostDims = 8;

std::string placements_text(const std::vector<PlacementText>& placements) {
  std::vector<std::string> texts;
  for (const PlacementText& placement : placements) texts.push_back(placement_text(placement));
  return join(texts, ",");
}

}  // namespace

PlacementText parse_placement(std::string_view text) {
  std::string lower(trimmed(text));
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower == "r" || lower == "replicate") return {PlacementText::Kind::kReplicate};
  if (lower == "p" || lower == "partial") return {PlacementText::Kind::kPartial};
  for (const std::string_view name : {"shard", "s"}) {
    if (!lower.starts_with(name)) continue;
    std::string_view dim = std::string_view(lower).substr(name.size());
    if (dim.starts_with('(') && dim.ends_with(')')) dim = dim.substr(1, dim.size() - 2);
    const auto number = to_integer(dim);
    if (number && *number >= 0 && *number < kMostDims) {
      return {PlacementText::Kind::kShard, static_cast<int>(*number)};
    }
  }
  throw Error("a placement is S(dim), R or P, not " + in_quotes(text) +
              "; S(0) cuts the rows of a tensor among the ranks, R gives all of it to each");
}

std::string placement_text(const PlacementText& placement) {
  if (placement.kind == PlacementText::Kind::kReplicate) return "R";
  if (placement.kind == PlacementText::Kind::kPartial) return "P";
  return fmt::format("S({})", placement.dim);
}

void require_fit(const DispatchSetup& setup, int ranks) {
  const auto product = std::accumulate(setup.mesh.begin(), setup.mesh.end(), 1LL, std::multiplies<>());
  if (product != ranks) {
    throw Error(fmt::format("a mesh of {} has {} ranks, but there {} {}: change --mesh or --ranks",
                            fmt::join(setup.mesh, "x"), product, ranks == 1 ? "is" : "are", ranks));
  }
  if (setup.placements.size() != setup.mesh.size()) {
    throw Error(fmt::format("{} placement(s) ({}) for a mesh of {} dimension(s): give one for each",
                            setup.placements.size(), placements_text(setup.placements), setup.mesh.size()));
  }
  for (const PlacementText& placement : setup.placements) {
    if (placement.kind != PlacementText::Kind::kShard) continue;
    if (placement.dim < static_cast<int>(setup.shape.size())) continue;
    throw Error(fmt::format(
        "the placement S({}) shards dimension {} of a tensor of shape {}, which has dimensions 0 to {}",
        placement.dim, placement.dim, fmt::join(setup.shape, "x"), setup.shape.size() - 1));
  }
}

AxisTexts axes_of(const DispatchSetup& setup) {
  return {{"mesh", fmt::format("{}", fmt::join(setup.mesh, "x"))},
          {"placements", placements_text(setup.placements)},
          {"shape", fmt::format("{}", fmt::join(setup.shape, "x"))},
          {"dtype", setup.dtype},
          {"repeats", std::to_string(setup.repeats)}};
}

DispatchSetup dispatch_setup_of(const std::function<std::string(const char* axis)>& axis) {
  DispatchSetup setup;
  setup.mesh.clear();
  for (const std::int64_t size : parse_grid(axis("mesh"), "mesh", 1))
    setup.mesh.push_back(static_cast<int>(size));
  setup.placements.clear();
  // An axis request has commas between values of the axis.
  std::string placements = axis("placements");
  std::ranges::replace(placements, 'x', ',');
  for (const std::string& text : split(placements, ',')) setup.placements.push_back(parse_placement(text));
  setup.shape = parse_grid(axis("shape"), "shape", 1);
  setup.dtype = axis("dtype");
  constexpr std::int64_t kMostRepeats = 100'000;
  const auto repeats = to_integer(axis("repeats"));
  if (!repeats || *repeats < 1 || *repeats > kMostRepeats)
    throw Error("repeats " + in_quotes(axis("repeats")) + ": a number from 1 to 100000");
  setup.repeats = static_cast<int>(*repeats);
  return setup;
}

std::vector<std::int64_t> parse_grid(std::string_view text, std::string_view what, std::int64_t least) {
  std::vector<std::int64_t> sizes;
  for (const std::string& part : split(std::string(text), 'x')) {
    const auto size = to_integer(trimmed(part));
    if (!size || *size < least || *size > 1'000'000'000) {
      throw Error(fmt::format("{} {}: sizes of at least {} with x between them, for example 2x2", what,
                              in_quotes(text), least));
    }
    sizes.push_back(*size);
  }
  return sizes;
}

}  // namespace headroom
