// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "headroom_cuda/device/device_case.h"
#include "headroom_cuda/limits/limits.h"
#include "headroom_cuda/limits/peak_kernels.h"
#include "headroom_cuda_device/launch_timer.h"

namespace headroom::cuda {
namespace {

/// Encodes eighths / 8 (|eighths| <= 15) in a floating-point type.
std::uint64_t encoded(int eighths, int bias, int mantissa_bits) {
  const std::uint64_t sign = eighths < 0 ? 1 : 0;
  const auto magnitude = static_cast<std::uint64_t>(eighths < 0 ? -eighths : eighths);
  const int sign_at = mantissa_bits + std::bit_width(static_cast<unsigned>(2 * bias));
  if (magnitude == 0) return sign << sign_at;
  const int top = static_cast<int>(std::bit_width(magnitude)) - 1;
  const auto exponent = static_cast<std::uint64_t>(bias + top - 3);
  const std::uint64_t fraction = (magnitude - (std::uint64_t{1} << top)) << (mantissa_bits - top);
  return sign << sign_at | exponent << mantissa_bits | fraction;
}

struct TypeOfMatrix {
  MatrixType type;
  std::string_view dtype;
  unsigned bytes;
  int bias, mantissa_bits;  ///< of floating-point types
};
/// In the order of MatrixType.
constexpr std::array<TypeOfMatrix, 6> kTypes{{{MatrixType::kF64, "f64", 8, 1023, 52},
                                              {MatrixType::kTf32, "tf32", 4, 127, 23},
                                              {MatrixType::kF16, "f16", 2, 15, 10},
                                              {MatrixType::kBf16, "bf16", 2, 127, 7},
                                              {MatrixType::kFp8, "fp8", 1, 7, 3},
                                              {MatrixType::kInt8, "int8", 1, 0, 0}}};

const TypeOfMatrix& line_of(MatrixType type) {
  return kTypes.at(static_cast<std::size_t>(type));
}

/// 200 to 500 µs, which hides a kernel's start and end.
constexpr unsigned kFmaRounds = 8192, kMmaRounds = 8192, kDmmaRounds = 256, kWgmmaRounds = 512;
/// Few enough for exact sums in float32 (fp8: nearly).
constexpr unsigned kFmaVerified = 2 * kFmaRoundsAtOnce, kMatrixVerified = kWgmmaRoundsAtOnce;
/// fp8 tensor cores add with fewer bits than float32.
constexpr double kFp8Tolerance = 2e-2;

/// f32 or f64 without tensor cores. Verified with a, a + 1/32, a + 2/32, ..., which shows the number of
/// rounds; timed with a, 8 - a, a, ..., which changes every bit.
template <typename T>
void fma_peak(State& state) {
  constexpr T kStep = 0.03125;
  const auto device = device_of(state);
  const auto blocks = static_cast<unsigned>(4 * device->multiprocessors());
  const std::size_t threads = std::size_t{blocks} * kFmaThreads;
  DeviceBuffer out(state, threads * sizeof(T));
  const Launch verified = [&](std::size_t, cudaStream_t stream) {
    fma_chains(blocks, kFmaVerified, T{1}, kStep, out.as<T>(), stream);
  };
  std::vector<double> expected(threads, 0.0);
  for (std::size_t thread = 0; thread < threads; ++thread) {
    for (unsigned chain = 0; chain < kFmaChains; ++chain) {
      expected[thread] += fma_start(static_cast<unsigned>(thread % 32), chain) + double{kStep} * kFmaVerified;
    }
  }
  verify_on_device<T>(state, *device, verified, out, expected, {1e-6, 0});
  state.work(
      {.flops = 2.0 * static_cast<double>(threads) * kFmaChains * kFmaRounds, .dtype = state.text("dtype")});
  state.note("instruction", sizeof(T) == 4 ? "FFMA" : "DFMA");
  measure_on_device(state, *device, [&](std::size_t, cudaStream_t stream) {
    fma_chains(blocks, kFmaRounds, T{-1}, T{8}, out.as<T>(), stream);
  });
}

struct MatrixKernel {
  unsigned rounds;
  unsigned blocks;
  std::size_t rows_a, rows_b;                         ///< rows of the operands, over all steps or matrices
  double multiplications;                             ///< per block and round
  std::size_t values;                                 ///< written per block
  std::function<double(std::size_t index)> expected;  ///< value `index` of a block after one round
  void (*run)(MatrixType, unsigned, unsigned, const std::byte*, const std::byte*, std::uint32_t*,
              cudaStream_t);
};

template <typename T>
void matrix_peak(State& state, MatrixType type, const MatrixKernel& kernel, const MatrixOperand& a,
                 const MatrixOperand& b) {
  const auto device = device_of(state);
  DeviceBuffer device_a(state, a.bytes.size()), device_b(state, b.bytes.size());
  device_a.upload(a.bytes);
  device_b.upload(b.bytes);
  DeviceBuffer out(state, kernel.blocks * kernel.values * sizeof(T));
  const auto run = [&](unsigned rounds, std::uint32_t* to, cudaStream_t stream) {
    kernel.run(type, kernel.blocks, rounds, device_a.data(), device_b.data(), to, stream);
  };
  std::vector<double> expected(kernel.blocks * kernel.values);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i] = i < kernel.values ? kMatrixVerified * kernel.expected(i) : expected[i - kernel.values];
  }
  std::vector<double> actual(expected.size());
  const auto verified = [&] {
    out.poison();
    run(kMatrixVerified, out.as<std::uint32_t>(), device->stream());
    device->synchronize();
    std::vector<T> values(expected.size());
    out.download(std::span(values));
    actual.assign(values.begin(), values.end());
  };
  state.verify(verified, actual, expected, {type == MatrixType::kFp8 ? kFp8Tolerance : 0.0, 0});
  state.work(
      {.flops = 2 * kernel.multiplications * kernel.blocks * kernel.rounds, .dtype = state.text("dtype")});
  measure_on_device(state, *device,
                    [&](std::size_t, cudaStream_t stream) { run(kernel.rounds, nullptr, stream); });
}

void matrix_peak(State& state, MatrixType type, const MatrixKernel& kernel, const MatrixOperand& a,
                 const MatrixOperand& b) {
  if (type == MatrixType::kInt8) return matrix_peak<std::int32_t>(state, type, kernel, a, b);
  if (type == MatrixType::kF64) return matrix_peak<double>(state, type, kernel, a, b);
  matrix_peak<float>(state, type, kernel, a, b);
}

/// Operands are stored step by step.
double dot_of_steps(const MatrixOperand& a, std::size_t row, std::size_t rows, const MatrixOperand& b,
                    std::size_t column, std::size_t columns, unsigned steps, unsigned elements) {
  double sum = 0;
  for (unsigned step = 0; step < steps; ++step)
    sum += dot(a, step * rows + row, b, step * columns + column, elements);
  return sum;
}

void dmma_peak(State& state) {
  const unsigned elements = elements_per_row(MatrixType::kF64);
  const MatrixOperand a = matrix_operand(MatrixType::kF64, kDmmaSteps * kMmaRows, state.seed());
  const MatrixOperand b =
      matrix_operand(MatrixType::kF64, kDmmaB * kDmmaSteps * kMmaColumns, state.seed() + 1);
  MatrixKernel kernel{};
  kernel.rounds = kDmmaRounds;
  kernel.blocks = static_cast<unsigned>(2 * device_of(state)->multiprocessors());
  kernel.multiplications =
      double{kMmaThreads / 32} * kDmmaTiles * kMmaRows * kMmaColumns * kDmmaSteps * elements;
  kernel.values = std::size_t{kDmmaTiles} * kMmaRows * kMmaColumns;
  kernel.expected = [&](std::size_t index) {
    const std::size_t column = index % kMmaColumns, row = index / kMmaColumns % kMmaRows;
    const std::size_t of_b = index / (kMmaColumns * kMmaRows) % kDmmaB;
    return dot_of_steps(a, row, kMmaRows, b, of_b * kDmmaSteps * kMmaColumns + column, kMmaColumns,
                        kDmmaSteps, elements);
  };
  kernel.run = dmma_tiles;
  state.note("instruction", "DMMA");
  matrix_peak(state, MatrixType::kF64, kernel, a, b);
}

void mma_peak(State& state) {
  const MatrixType type = matrix_type(state.text("dtype"));
  if (type == MatrixType::kFp8) state.skip("mma.sync of compute capability 8.0 has no fp8");
  const unsigned elements = elements_per_row(type);
  const MatrixOperand a = matrix_operand(type, kMmaA * kMmaRows, state.seed());
  const MatrixOperand b = matrix_operand(type, kMmaB * kMmaColumns, state.seed() + 1);
  MatrixKernel kernel{};
  kernel.rounds = kMmaRounds;
  kernel.blocks = static_cast<unsigned>(2 * device_of(state)->multiprocessors());
  kernel.multiplications = double{kMmaThreads / 32} * kMmaTiles * kMmaRows * kMmaColumns * elements;
  kernel.values = std::size_t{kMmaTiles} * kMmaRows * kMmaColumns;
  kernel.expected = [&](std::size_t index) {
    const std::size_t column = index % kMmaColumns, row = index / kMmaColumns % kMmaRows;
    const std::size_t tile = index / (kMmaColumns * kMmaRows);
    return dot(a, tile % kMmaA * kMmaRows + row, b, tile % kMmaB * kMmaColumns + column, elements);
  };
  kernel.run = mma_tiles;
  state.note("instruction", type == MatrixType::kInt8 ? "IMMA" : "HMMA");
  matrix_peak(state, type, kernel, a, b);
}

void wgmma_peak(State& state) {
  const auto device = device_of(state);
  if (device->compute_capability() != 90) {
    state.skip("wgmma needs compute capability 9.0, which " + device->name() + " lacks");
  }
  const MatrixType type = matrix_type(state.text("dtype"));
  const unsigned elements = elements_per_row(type);
  const MatrixOperand a = matrix_operand(type, kWgmmaSteps * kWgmmaRows, state.seed());
  const MatrixOperand b = matrix_operand(type, kWgmmaSteps * kWgmmaColumns, state.seed() + 1);
  MatrixKernel kernel{};
  kernel.rounds = kWgmmaRounds;
  kernel.blocks = static_cast<unsigned>(device->multiprocessors());
  kernel.multiplications = double{kWgmmaGroups} * kWgmmaSteps * kWgmmaRows * kWgmmaColumns * elements;
  kernel.values = std::size_t{kWgmmaRows} * kWgmmaColumns;
  kernel.expected = [&](std::size_t index) {
    return dot_of_steps(a, index / kWgmmaColumns, kWgmmaRows, b, index % kWgmmaColumns, kWgmmaColumns,
                        kWgmmaSteps, elements);
  };
  kernel.run = wgmma_tiles;
  state.note("instruction", type == MatrixType::kInt8  ? "IGMMA"
                            : type == MatrixType::kFp8 ? "QGMMA"
                                                       : "HGMMA");
  matrix_peak(state, type, kernel, a, b);
}

}  // namespace

MatrixType matrix_type(std::string_view dtype) {
  const auto* const found = std::ranges::find(kTypes, dtype, &TypeOfMatrix::dtype);
  if (found != kTypes.end()) return found->type;
  throw std::logic_error("no matrix instruction multiplies " + std::string(dtype));
}

unsigned elements_per_row(MatrixType type) {
  return kRowBytes / line_of(type).bytes;
}

MatrixOperand matrix_operand(MatrixType type, std::size_t rows, std::uint64_t seed) {
  const bool is_integer = type == MatrixType::kInt8;
  const TypeOfMatrix& line = line_of(type);
  std::mt19937_64 random(seed);
  MatrixOperand operand;
  for (std::size_t i = 0; i < rows * elements_per_row(type); ++i) {
    const int number =
        is_integer ? static_cast<int>(random() % 255) - 127 : static_cast<int>(random() % 31) - 15;
    const std::uint64_t bits =
        is_integer ? static_cast<std::uint8_t>(number) : encoded(number, line.bias, line.mantissa_bits);
    for (unsigned byte = 0; byte < line.bytes; ++byte) {
      operand.bytes.push_back(static_cast<std::byte>(bits >> 8 * byte & 0xff));
    }
    operand.values.push_back(is_integer ? number : number / 8.0);
  }
  return operand;
}

double dot(const MatrixOperand& a, std::size_t row, const MatrixOperand& b, std::size_t column,
           unsigned elements) {
  double sum = 0;
  for (unsigned i = 0; i < elements; ++i)
    sum += a.values[row * elements + i] * b.values[column * elements + i];
  return sum;
}

void limit_peak(State& state) {
  const std::string& dtype = state.text("dtype");
  const std::string& pattern = state.text("pattern");
  const bool of_f64 = dtype == "f64", has_fma = of_f64 || dtype == "f32";
  const bool has_matrices = dtype != "f32" && !(of_f64 && pattern == "wgmma");
  if (pattern == "fma" ? !has_fma : !has_matrices) state.skip("no " + pattern + " of " + dtype);
  if (pattern == "fma") return of_f64 ? fma_peak<double>(state) : fma_peak<float>(state);
  if (of_f64) return dmma_peak(state);
  return pattern == "mma" ? mma_peak(state) : wgmma_peak(state);
}

}  // namespace headroom::cuda
