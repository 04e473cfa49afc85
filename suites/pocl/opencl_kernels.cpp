// SPDX-License-Identifier: Apache-2.0
#include "opencl_kernels.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

namespace {

constexpr const char* kNames[] = {"gemm", "reduce", "softmax"};

constexpr std::size_t kTile = 16;
constexpr std::size_t kSide = 64;

constexpr const char* kGemm = R"(
#define TILE 16
#define SIDE 64
kernel void run(global const float* input, global float* output) {
  local float left[TILE * TILE], right[TILE * TILE];
  const int row = get_global_id(0) / SIDE, column = get_global_id(0) % SIDE;
  const int i = get_local_id(0) / TILE, j = get_local_id(0) % TILE;
  const int tile_row = get_group_id(0) / (SIDE / TILE) * TILE, tile_column = get_group_id(0) % (SIDE / TILE) * TILE;
  float sum = 0;
  for (int k = 0; k < SIDE; k += TILE) {
    left[i * TILE + j] = input[(tile_row + i) * SIDE + k + j];
    right[i * TILE + j] = input[SIDE * SIDE + (k + i) * SIDE + tile_column + j];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int t = 0; t < TILE; ++t) sum += left[i * TILE + t] * right[t * TILE + j];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  output[(tile_row + i) * SIDE + tile_column + j] = sum;
}
)";

constexpr std::size_t kCount = 4096, kGroup = 128;

constexpr const char* kReduce = R"(
#define GROUP 128
kernel void run(global const float* input, global float* output) {
  local float partial[GROUP];
  const int i = get_local_id(0);
  partial[i] = input[get_global_id(0)];
  for (int half_group = GROUP / 2; half_group > 0; half_group /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < half_group) partial[i] += partial[i + half_group];
  }
  if (i == 0) output[get_group_id(0)] = partial[0];
}
)";

constexpr std::size_t kRow = 32;

constexpr const char* kSoftmax = R"(
#define ROW 32
kernel void run(global const float* input, global float* output) {
  const int start = get_global_id(0) * ROW;
  float largest = input[start];
  for (int i = 1; i < ROW; ++i) largest = fmax(largest, input[start + i]);
  float sum = 0;
  for (int i = 0; i < ROW; ++i) sum += exp(input[start + i] - largest);
  for (int i = 0; i < ROW; ++i) output[start + i] = exp(input[start + i] - largest) / sum;
}
)";

std::vector<float> random_values(std::size_t count) {
  std::mt19937 random(1);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random() % 2001) / 1000.0F - 1.0F;
  return values;
}

OpenclProblem gemm() {
  OpenclProblem problem{
      "gemm", kGemm, kSide * kSide, kTile * kTile, kSide * kSide, random_values(2 * kSide * kSide), {}};
  const std::vector<float>& input = problem.input;
  for (std::size_t row = 0; row < kSide; ++row) {
    for (std::size_t column = 0; column < kSide; ++column) {
      double sum = 0;
      for (std::size_t k = 0; k < kSide; ++k) {
        sum += double{input[row * kSide + k]} * double{input[kSide * kSide + k * kSide + column]};
      }
      problem.expected.push_back(sum);
    }
  }
  return problem;
}

OpenclProblem reduce() {
  OpenclProblem problem{"reduce", kReduce, kCount, kGroup, kCount / kGroup, random_values(kCount), {}};
  for (std::size_t start = 0; start < kCount; start += kGroup) {
    double sum = 0;
    for (std::size_t i = 0; i < kGroup; ++i) sum += double{problem.input[start + i]};
    problem.expected.push_back(sum);
  }
  return problem;
}

OpenclProblem softmax() {
  OpenclProblem problem{"softmax", kSoftmax, kCount / kRow, kRow, kCount, random_values(kCount), {}};
  for (std::size_t start = 0; start < kCount; start += kRow) {
    double sum = 0;
    for (std::size_t i = 0; i < kRow; ++i) sum += std::exp(double{problem.input[start + i]});
    for (std::size_t i = 0; i < kRow; ++i)
      problem.expected.push_back(std::exp(double{problem.input[start + i]}) / sum);
  }
  return problem;
}

}  // namespace

std::span<const char* const> opencl_problem_names() {
  return kNames;
}

OpenclProblem opencl_problem(const std::string& name) {
  if (name == "gemm") return gemm();
  if (name == "reduce") return reduce();
  if (name == "softmax") return softmax();
  throw std::invalid_argument("no kernel " + name);
}
