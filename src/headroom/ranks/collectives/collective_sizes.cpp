// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/collectives/collective_sizes.h"

#include <algorithm>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

std::int64_t bytes_of_element(const std::string& dtype) {
  if (dtype == "f16") return 2;
  if (dtype == "f32" || dtype == "i32") return 4;
  if (dtype == "f64" || dtype == "i64") return 8;
  throw Error("no collectives of " + in_quotes(dtype) + ": there are f32, f64, f16, i32 and i64");
}

}  // namespace

std::int64_t collective_bytes(std::string_view op, std::int64_t bytes, const std::string& dtype, int ranks) {
  const bool has_parts = op != "all_reduce" && op != "broadcast";
  const std::int64_t unit = bytes_of_element(dtype) * (has_parts ? ranks : 1);
  return std::max<std::int64_t>(bytes / unit, 1) * unit;
}

double exchanged_bytes(std::string_view op, std::int64_t bytes, int ranks) {
  // Sums are scattered first and gathered then.
  const double passes = op == "all_reduce" ? 2 : 1;
  return passes * static_cast<double>(bytes) * (ranks - 1) / ranks;
}

std::int64_t collective_footprint(std::int64_t bytes) {
  // Source, input, output, and once more what gloo exchanges through.
  return 4 * bytes;
}

}  // namespace headroom
