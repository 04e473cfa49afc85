// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/margins.h"

#include <gmock/gmock.h>

#include "sample_records.h"

namespace headroom {
namespace {

using test::message_of;
using test::record_of;
using ::testing::HasSubstr;

constexpr const char* kFile = R"(margin = "3%"

[[case]]
name = "gemv*"
margin = 0.05

[[case]]
name = "gemv D=10?4"
metric = "lat*"
margin = "10 %"
)";

Record gemv(const std::string& size) {
  Record record = record_of("gemv", {});
  record.axes = {{"D", size}};
  return record;
}

TEST(Margins, LastRuleThatFitsCounts) {
  const GateFile file = parse_gate_file(kFile, "gate.toml");
  ASSERT_TRUE(file.margin);
  const Margins margins{*file.margin, file.rules};
  EXPECT_DOUBLE_EQ(margin_of(margins, record_of("mlp", {})), 0.03);
  EXPECT_DOUBLE_EQ(margin_of(margins, gemv("4096")), 0.05);
  EXPECT_DOUBLE_EQ(margin_of(margins, gemv("1024")), 0.10);
  Record other = gemv("1024");
  other.metric.name = "GFLOP/s";
  EXPECT_DOUBLE_EQ(margin_of(margins, other), 0.05);
}

TEST(ParseMargin, TakesShares) {
  EXPECT_DOUBLE_EQ(parse_margin("3%"), 0.03);
  EXPECT_DOUBLE_EQ(parse_margin("0.5 %"), 0.005);
  EXPECT_DOUBLE_EQ(parse_margin("0"), 0);
}

TEST(ParseMargin, RefusesWhatIsNone) {
  for (const char* text : {"-1%", "100%", "3", "nan", "three", ""}) {
    EXPECT_NE(message_of([&] { parse_margin(text); }), "nothing was thrown") << text;
  }
}

TEST(GateFile, RefusesWithThePlace) {
  const auto refusal = [](const char* text) {
    return message_of([&] { parse_gate_file(text, "gate.toml"); });
  };
  EXPECT_THAT(refusal("margin = [1]"), HasSubstr("gate.toml: line 1, column 10: a margin is a share"));
  EXPECT_THAT(refusal("margin = 2.0"), HasSubstr("gate.toml: line 1, column 10: '2' is no margin"));
  EXPECT_THAT(refusal("[[case]]\nnam = \"x\"\nmargin = 0.1"),
              HasSubstr("unknown key 'nam'; did you mean 'name'"));
  EXPECT_THAT(refusal("[[case]]\nname = \"x\""), HasSubstr("'margin' is missing"));
  EXPECT_THAT(refusal("[case]\nname = \"x\""), HasSubstr("write [[case]], with two brackets"));
  EXPECT_THAT(refusal("margins = 0.1"), HasSubstr("unknown key 'margins'"));
  EXPECT_THAT(refusal("margin = "), HasSubstr("gate.toml: line 1"));
}

}  // namespace
}  // namespace headroom
