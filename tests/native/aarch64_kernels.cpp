// SPDX-License-Identifier: Apache-2.0
// Compares this architecture's kernels with plain loops; aarch64_test.py builds it for aarch64 and runs it in
// qemu. Exits with 1 and a message if a result is wrong.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "headroom/experiment/bf16.h"
#include "headroom_native/kernels/gemv/gemv_kernel.h"
#include "headroom_native/kernels/norm_kernel.h"
#include "headroom_native/limits/memory_kernels.h"
#include "headroom_native/limits/peak_kernels.h"

namespace headroom::native {
namespace {

int wrong = 0, checked = 0;

void expect_near(double actual, double expected, double error, const std::string& what) {
  ++checked;
  if (std::fabs(actual - expected) <= error) return;
  ++wrong;
  std::printf("%s: %.9g, not %.9g\n", what.c_str(), actual, expected);
}

std::mt19937& generator() {
  static std::mt19937 numbers(1);
  return numbers;
}

std::vector<Bf16> random_values(std::size_t count) {
  std::vector<Bf16> values(count);
  for (Bf16& value : values) value = to_bf16(static_cast<float>(generator()() % 2001) / 1000 - 1);
  return values;
}

/// 64-byte aligned memory.
struct Memory {
  explicit Memory(std::size_t bytes) : all(bytes + 128) {}
  std::byte* data() { return all.data() + (64 - reinterpret_cast<std::uintptr_t>(all.data()) % 64) % 64; }
  std::vector<std::byte> all;
};

void check_gemv(const std::string& dtype, GemvForm form, std::size_t rows, std::size_t columns,
                GemvWalk walk) {
  const GemvKernel kernel = gemv_kernel(dtype, chosen_isa(), form);
  const std::vector<Bf16> x = random_values(columns), halves = random_values(rows * columns);
  std::vector<std::int8_t> bytes(rows * columns);
  for (std::int8_t& byte : bytes) byte = static_cast<std::int8_t>(generator()() % 256 - 128);
  const bool is_bf16 = dtype == "bf16";
  Memory prepared(prepared_bytes(columns));
  std::vector<float> y(rows);
  kernel.prepare(x.data(), columns, prepared.data());
  kernel.multiply(is_bf16 ? reinterpret_cast<const std::byte*>(halves.data())
                          : reinterpret_cast<const std::byte*>(bytes.data()),
                  rows, columns, prepared.data(), walk, y.data());
  for (std::size_t row = 0; row < rows; ++row) {
    double expected = 0, size = 0;
    for (std::size_t k = 0; k < columns; ++k) {
      const std::size_t at = row * columns + k;
      const double weight = is_bf16 ? double{to_float(halves[at])} : bytes[at];
      expected += weight * to_float(x[k]);
      size += std::fabs(weight);
    }
    const double error = !is_bf16 && form == GemvForm::kBest ? 0.5 / 32639 + 1e-6 : 1e-6;
    expect_near(y[row], expected, error * size,
                kernel.isa + " " + dtype + " " + std::to_string(rows) + "x" + std::to_string(columns) + ", " +
                    std::to_string(walk.rows) + " rows, row " + std::to_string(row));
  }
}

/// Values that fixed point cannot represent are multiplied in f32.
void check_infinity() {
  constexpr std::size_t kColumns = 70;
  const GemvKernel kernel = gemv_kernel("int8", chosen_isa());
  std::vector<Bf16> x(kColumns, to_bf16(1));
  x[3] = to_bf16(INFINITY);
  std::vector<std::int8_t> weights(2 * kColumns, 1);
  weights[kColumns + 3] = -1;
  Memory prepared(prepared_bytes(kColumns));
  float y[2] = {};
  kernel.prepare(x.data(), kColumns, prepared.data());
  kernel.multiply(reinterpret_cast<const std::byte*>(weights.data()), 2, kColumns, prepared.data(), {}, y);
  expect_near(y[0] == INFINITY && y[1] == -INFINITY, 1, 0, kernel.isa + " int8, an infinite x");
}

void check_norm(std::size_t rows, std::size_t columns, NormWalk walk, float mean) {
  const NormKernel kernel = norm_kernel(chosen_isa());
  std::vector<float> gamma(columns), beta(columns);
  for (std::size_t k = 0; k < columns; ++k) {
    gamma[k] = 1 + static_cast<float>(k % 7) / 8;
    beta[k] = static_cast<float>(k % 5) / 4;
  }
  std::vector<Bf16> x = random_values(rows * columns);
  for (Bf16& value : x) value = to_bf16(to_float(value) + mean);
  Memory y(rows * columns * sizeof(Bf16));
  Memory prepared(prepared_norm_floats(columns) * sizeof(float));
  kernel.prepare(gamma.data(), beta.data(), columns, reinterpret_cast<float*>(prepared.data()));
  auto* results = reinterpret_cast<Bf16*>(y.data());
  kernel.rows(x.data(), rows, columns, reinterpret_cast<const float*>(prepared.data()), walk, results);
  store_fence();
  for (std::size_t row = 0; row < rows; ++row) {
    double sum = 0, squares = 0;
    for (std::size_t k = 0; k < columns; ++k) sum += to_float(x[row * columns + k]);
    const double average = sum / static_cast<double>(columns);
    for (std::size_t k = 0; k < columns; ++k)
      squares += std::pow(to_float(x[row * columns + k]) - average, 2);
    const double scale = 1 / std::sqrt(squares / static_cast<double>(columns) + double{kNormEpsilon});
    for (std::size_t k = 0; k < columns; ++k) {
      const double expected = (to_float(x[row * columns + k]) - average) * scale * gamma[k] + beta[k];
      expect_near(to_float(results[row * columns + k]), expected, 0.005 * std::fabs(expected) + 1e-4,
                  "LayerNorm " + std::to_string(columns) + ", column " + std::to_string(k));
    }
  }
}

void check_moves() {
  constexpr std::size_t kBytes = 100 * kLineBytes;
  Memory from(kBytes), to(kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) from.data()[i] = static_cast<std::byte>(i * 7);
  for (const char* pattern : {"linear", "streams", "prefetch", "streams_prefetch"}) {
    read_kernel(pattern, chosen_isa())(from.data(), kBytes);
  }
  for (const char* pattern : {"plain", "nontemporal", "prefetch"}) {
    std::memset(to.data(), 0, kBytes);
    copy_kernel(pattern, chosen_isa())(to.data(), from.data(), kBytes);
    store_fence();
    expect_near(std::memcmp(to.data(), from.data(), kBytes), 0, 0, std::string("copy ") + pattern);
  }
  for (const char* pattern : {"plain", "nontemporal"}) {
    std::memset(to.data(), 0, kBytes);
    write_kernel(pattern, chosen_isa())(to.data(), kBytes);
    store_fence();
    for (std::size_t i = 0; i < kBytes; ++i) {
      expect_near(static_cast<int>(to.data()[i]), 255, 0, std::string("write ") + pattern);
    }
  }
  if (const WriteKernel zero = zero_kernel(); zero != nullptr) {
    zero(to.data(), kBytes);
    for (std::size_t i = 0; i < kBytes; ++i) expect_near(static_cast<int>(to.data()[i]), 0, 0, "zero fill");
  }
}

void check_peaks() {
  for (const char* dtype : {"f64", "f32", "bf16", "int8"}) {
    for (const char* pattern : {"fma", "dot"}) {
      const PeakKernel kernel = peak_kernel(dtype, pattern, chosen_isa());
      if (kernel.run != nullptr) kernel.run(10);
      std::printf("peak %s %s: %s\n", dtype, pattern, (kernel.instruction + kernel.why_not).c_str());
    }
  }
}

int check_all() {
  const GemvWalk walks[] = {{1, 0}, {1, 4096}, {2, 2048, PrefetchLevel::kLargerCaches}, {4, 0}, kFourStreams};
  for (const GemvWalk& walk : walks) {
    for (const std::size_t columns : {1, 31, 64, 100, 129, 5000}) {
      for (const std::size_t rows : {1, 5, 12}) {
        for (const GemvForm form : {GemvForm::kBest, GemvForm::kStrict}) {
          check_gemv("bf16", form, rows, columns, walk);
          check_gemv("int8", form, rows, columns, walk);
        }
      }
    }
  }
  for (const Stores stores : {Stores::kCached, Stores::kNontemporal}) {
    for (const int rows : {1, 2, 4}) {
      for (const std::size_t columns : {1, 33, 64, 96, 1000}) {
        for (const float mean : {0.0F, 100.0F}) check_norm(6, columns, {stores, rows, 4096, rows == 4}, mean);
      }
    }
  }
  check_infinity();
  check_moves();
  check_peaks();
  std::printf("%s: %d answers checked, %d wrong\n", name_of(chosen_isa()), checked, wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace headroom::native

int main() {
  return headroom::native::check_all();
}
