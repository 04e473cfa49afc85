// SPDX-License-Identifier: Apache-2.0
// HEADROOM_MUTATIONS: mutations of each kind of input.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <random>

#include "inputs.h"

namespace headroom::strangers {
namespace {

std::string changed(std::string text, const std::string& other, std::mt19937_64& random) {
  static constexpr std::string_view kNumbers[] = {
      "-1", "0", "1e308", "18446744073709551616", "NaN", "null", "\"\"", "[]", "{}", "1e-320"};
  const auto place = [&](const std::string& in) { return in.empty() ? 0 : random() % in.size(); };
  for (std::uint64_t left = 1 + random() % 4; left > 0; --left) {
    const std::size_t at = place(text), size = std::min<std::size_t>(random() % 64, text.size() - at);
    switch (random() % 7) {
      case 0:
        if (!text.empty()) text[at] = static_cast<char>(text[at] ^ (1 << (random() % 8)));
        break;
      case 1:
        if (!text.empty()) text[at] = static_cast<char>(random());
        break;
      case 2:
        text.erase(at, size);
        break;
      case 3:
        text.insert(at, text.substr(at, size));
        break;
      case 4: {
        const std::size_t digit = text.find_first_of("0123456789", at);
        const std::size_t end = text.find_first_not_of("0123456789.eE+-", digit);
        if (digit != std::string::npos) {
          text.replace(digit, (end == std::string::npos ? text.size() : end) - digit,
                       kNumbers[random() % std::size(kNumbers)]);
        }
        break;
      }
      case 5:
        text.insert(at, other.substr(place(other), random() % 64));
        break;
      default:
        if (random() % 4 == 0) text.resize(at);
    }
  }
  return text;
}

class Mutations : public testing::TestWithParam<Input> {};

TEST_P(Mutations, AreTakenOrRefused) {
  const char* asked = std::getenv("HEADROOM_MUTATIONS");
  const std::uint64_t count = asked == nullptr ? 1500 : std::strtoull(asked, nullptr, 10);
  const std::vector<std::string> seeds = GetParam().seeds();
  ASSERT_FALSE(seeds.empty());
  for (const std::string& seed : seeds) GetParam().take(seed);
  std::mt19937_64 random(1);
  double longest_s = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string text = changed(seeds[random() % seeds.size()], seeds[random() % seeds.size()], random);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_NO_THROW(GetParam().take(text)) << "mutation " << i << ": " << text.substr(0, 500);
    longest_s =
        std::max(longest_s, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  EXPECT_LT(longest_s, 5) << "of one";
}

INSTANTIATE_TEST_SUITE_P(All, Mutations, testing::ValuesIn(inputs().begin(), inputs().end()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace headroom::strangers
