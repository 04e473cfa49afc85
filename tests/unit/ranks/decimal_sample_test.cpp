// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/ddp/decimal_text.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

namespace headroom {
namespace {

constexpr std::array kAsked{0, 50, 75, 95, 100};

/// numpy's formula on the sorted doubles.
std::vector<double> expected(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::vector<double> result;
  for (const int percentile : kAsked) {
    const double position = static_cast<double>(values.size() - 1) * (percentile / 100.0);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    const double share = position - static_cast<double>(below), step = values[above] - values[below];
    result.push_back(share >= 0.5 ? values[above] - step * (1 - share) : values[below] + step * share);
  }
  return result;
}

/// What the percentiles are when the texts are read from a JSON array.
std::vector<double> read_back(const std::vector<std::string>& texts, const char* separator) {
  const auto path =
      std::filesystem::path(::testing::TempDir()) / ("decimals_" + std::to_string(::getpid()) + ".json");
  std::ofstream file(path);
  for (std::size_t i = 0; i < texts.size(); ++i) file << (i == 0 ? "[" : separator) << texts[i];
  file << "]";
  file.close();
  JsonStream stream(path);
  DecimalSample sample;
  read_numbers(stream, sample);
  stream.finish();
  std::filesystem::remove(path);
  EXPECT_EQ(sample.size(), texts.size());
  return sample.percentiles(kAsked);
}

std::string random_digits(std::mt19937& engine, std::size_t count) {
  std::string digits;
  while (digits.size() < count) digits += static_cast<char>('0' + engine() % 10);
  return digits;
}

/// `count` numbers of which `slow_in` one is of a form that a DecimalSample cannot hold as a decimal.
void check(std::size_t count, unsigned slow_in, const char* separator, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<std::string> texts;
  std::vector<double> values;
  const std::array<const char*, 6> slow{
      "2.5", "1e-3", "1.9999999999999999999", "3", "0.12345678901234567890123", "1E0"};
  for (std::size_t i = 0; i < count; ++i) {
    std::string text = (engine() % 4 == 0 ? "1." : "0.") + random_digits(engine, 1 + engine() % 19);
    if (slow_in > 0 && engine() % slow_in == 0) text = slow[engine() % slow.size()];
    values.push_back(std::stod(text));
    texts.push_back(std::move(text));
  }
  EXPECT_EQ(read_back(texts, separator), expected(values)) << count << " numbers, seed " << seed;
}

TEST(DecimalSample, FindsWhatSortingDoublesFinds) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    for (const std::size_t count : {1, 2, 3, 5, 20, 21, 400}) check(count, 0, ", ", seed);
  }
  for (unsigned seed = 0; seed < 3; ++seed) check(20'000, 0, ",", seed);
}

TEST(DecimalSample, MixesFormsOfNumbers) {
  for (unsigned seed = 0; seed < 20; ++seed) check(50, 5, ",\n  ", seed);
  check(20'000, 100, ", ", 1);
}

TEST(DecimalSample, OfEqualNumbersIsThatNumber) {
  const std::vector<std::string> texts(10'000, "0.1");
  EXPECT_EQ(read_back(texts, ", "), std::vector<double>(kAsked.size(), 0.1));
}

}  // namespace
}  // namespace headroom
