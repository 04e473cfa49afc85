// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/unit_conversion.h"

#include <algorithm>
#include <array>

namespace headroom {
namespace {

enum class Quantity { kTime, kBytes, kByteRate, kOperationRate };

struct Unit {
  std::string_view name;
  Quantity quantity;
  double size;
};

constexpr double kKi = 1024;

constexpr std::array kUnits{
    Unit{"ns", Quantity::kTime, 1},
    Unit{"us", Quantity::kTime, 1e3},
    Unit{"µs", Quantity::kTime, 1e3},
    Unit{"ms", Quantity::kTime, 1e6},
    Unit{"s", Quantity::kTime, 1e9},
    Unit{"sec", Quantity::kTime, 1e9},
    Unit{"seconds", Quantity::kTime, 1e9},
    Unit{"B", Quantity::kBytes, 1},
    Unit{"bytes", Quantity::kBytes, 1},
    Unit{"kB", Quantity::kBytes, 1e3},
    Unit{"KB", Quantity::kBytes, 1e3},
    Unit{"MB", Quantity::kBytes, 1e6},
    Unit{"GB", Quantity::kBytes, 1e9},
    Unit{"KiB", Quantity::kBytes, kKi},
    Unit{"MiB", Quantity::kBytes, kKi* kKi},
    Unit{"GiB", Quantity::kBytes, kKi* kKi* kKi},
    Unit{"B/s", Quantity::kByteRate, 1},
    Unit{"KB/s", Quantity::kByteRate, 1e3},
    Unit{"MB/s", Quantity::kByteRate, 1e6},
    Unit{"GB/s", Quantity::kByteRate, 1e9},
    Unit{"TB/s", Quantity::kByteRate, 1e12},
    Unit{"FLOP/s", Quantity::kOperationRate, 1},
    Unit{"MFLOP/s", Quantity::kOperationRate, 1e6},
    Unit{"GFLOP/s", Quantity::kOperationRate, 1e9},
    Unit{"TFLOP/s", Quantity::kOperationRate, 1e12},
    Unit{"GOP/s", Quantity::kOperationRate, 1e9},
    Unit{"TOP/s", Quantity::kOperationRate, 1e12},
};

}  // namespace

std::optional<double> unit_factor(std::string_view from, std::string_view to) {
  if (from == to) return 1;
  const auto source = std::ranges::find(kUnits, from, &Unit::name);
  const auto target = std::ranges::find(kUnits, to, &Unit::name);
  if (source == kUnits.end() || target == kUnits.end() || source->quantity != target->quantity)
    return std::nullopt;
  return source->size / target->size;
}

}  // namespace headroom
