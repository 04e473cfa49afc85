// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/oracle.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "headroom/workload/stored_model.h"

namespace headroom {
namespace {

std::optional<StoredType> blocks_of(std::string_view dtype) {
  constexpr std::pair<std::string_view, StoredType> kBlocks[] = {{"int8_g32", StoredType::kQ8Block},
                                                                 {"int4", StoredType::kQ4Block},
                                                                 {"q4_k", StoredType::kQ4Super},
                                                                 {"q5_k", StoredType::kQ5Super},
                                                                 {"q6_k", StoredType::kQ6Super}};
  for (const auto& [name, type] : kBlocks) {
    if (name == dtype) return type;
  }
  return std::nullopt;
}

double as_double(Bf16 value) {
  return to_float(value);
}
double as_double(std::int8_t value) {
  return value;
}
double as_double(float value) {
  return value;
}

/// Eight partial sums: a single chain would take four cycles per column.
template <typename Weight>
double dot(const Weight* row, std::span<const double> x) {
  constexpr std::size_t kSums = 8;
  double sums[kSums] = {};
  std::size_t k = 0;
  for (; k + kSums <= x.size(); k += kSums) {
    for (std::size_t i = 0; i < kSums; ++i) sums[i] += as_double(row[k + i]) * x[k + i];
  }
  for (; k < x.size(); ++k) sums[0] += as_double(row[k]) * x[k];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

template <typename Weight>
void gemv_rows(const Weight* weights, Slice rows, std::span<const double> x, std::span<double> y) {
  for (std::size_t row = rows.begin; row < rows.end; ++row) y[row] = dot(weights + row * x.size(), x);
}

void gemv_blocks(StoredType type, const std::byte* weights, Slice rows, std::span<const double> x,
                 std::span<double> y) {
  const std::size_t row_bytes = x.size() / block_size(type) * block_bytes(type);
  std::vector<float> values(x.size());
  for (std::size_t row = rows.begin; row < rows.end; ++row) {
    dequantise(type, weights + row * row_bytes, values);
    y[row] = dot(values.data(), x);
  }
}

void normalise(std::span<const double> x, std::span<const double> gamma, std::span<const double> beta,
               std::span<double> y) {
  const auto count = static_cast<double>(x.size());
  double mean = 0;
  for (const double value : x) mean += value / count;
  double variance = 0;
  for (const double value : x) variance += (value - mean) * (value - mean) / count;
  const double scale = 1 / std::sqrt(variance + double{kNormEpsilon});
  for (std::size_t k = 0; k < x.size(); ++k) y[k] = (x[k] - mean) * scale * gamma[k] + beta[k];
}

}  // namespace

std::vector<double> to_doubles(std::span<const Bf16> values) {
  std::vector<double> doubles;
  doubles.reserve(values.size());
  for (const Bf16 value : values) doubles.push_back(to_float(value));
  return doubles;
}

std::vector<double> to_doubles(std::span<const float> values) {
  return {values.begin(), values.end()};
}

std::vector<double> exact_gemv(const Team& team, std::string_view dtype, const std::byte* weights,
                               std::size_t rows, std::span<const double> x, std::span<const double> bias) {
  std::vector<double> y(rows);
  team([&](int worker, int workers) {
    const Slice slice = slice_of(rows, worker, workers);
    if (dtype == "bf16") {
      gemv_rows(reinterpret_cast<const Bf16*>(weights), slice, x, y);
    } else if (const auto blocks = blocks_of(dtype)) {
      gemv_blocks(*blocks, weights, slice, x, y);
    } else {
      gemv_rows(reinterpret_cast<const std::int8_t*>(weights), slice, x, y);
    }
  });
  for (std::size_t row = 0; row < bias.size(); ++row) y[row] += bias[row];
  return y;
}

std::vector<double> exact_layer_norm(const Team& team, std::span<const Bf16> x, std::span<const double> gamma,
                                     std::span<const double> beta) {
  const std::size_t columns = gamma.size();
  std::vector<double> y(x.size());
  team([&](int worker, int workers) {
    std::vector<double> row(columns);
    const Slice rows = slice_of(x.size() / columns, worker, workers);
    for (std::size_t index = rows.begin; index < rows.end; ++index) {
      for (std::size_t k = 0; k < columns; ++k) row[k] = to_float(x[index * columns + k]);
      normalise(row, gamma, beta, std::span(y).subspan(index * columns, columns));
    }
  });
  return y;
}

std::vector<double> exact_layer_norm(std::span<const double> x, std::span<const double> gamma,
                                     std::span<const double> beta) {
  std::vector<double> y(x.size());
  normalise(x, gamma, beta, y);
  return y;
}

}  // namespace headroom
