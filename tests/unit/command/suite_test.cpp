// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../error_message.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/command/shipped_suites.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

/// A suite file in which every line can be made wrong.
constexpr const char* kHead = R"(models = ["a", "b"]
layers = ["ccache", "env:MINE"]
command = ["tool", "--only={model}", "{mode}", "-o", "{output}"]
)";
constexpr const char* kMode = R"([options.mode]
default = "fast"
values = {fast = [], slow = ["--slow", "{model}"]}
)";

Suite parsed(const std::string& text) {
  return parse_suite(text, "folder/mine.toml", "/suites");
}

std::string suite_error(const std::string& text) {
  return test::message_of([&] { parsed(text); });
}

TEST(Suite, ReadsWhatTheFileSays) {
  const Suite suite =
      parsed(std::string(kHead) +
             "timeout = \"1.5s\"\nrepeat = 3\norder = \"listed\"\n"
             "metric = {from = \"csv\", column = \"t\", name = \"compile time\", unit = \"s\"}\n"
             "[environment]\nA = \"{work}/x\"\n" +
             kMode);
  EXPECT_EQ(suite.name, "mine");
  EXPECT_THAT(suite.models, ElementsAre("a", "b"));
  EXPECT_EQ(suite.layers[0].variable, "CCACHE_DIR");
  EXPECT_EQ(suite.layers[1].variable, "MINE");
  EXPECT_EQ(suite.timeout_s, 1.5);
  EXPECT_EQ(suite.repeat, 3U);
  EXPECT_FALSE(suite.random_order);
  EXPECT_EQ(suite.metric.from, MetricSource::From::kCsv);
  EXPECT_EQ(suite.metric.unit, "s");
  EXPECT_EQ(suite.environment[0].second, "{work}/x");
}

TEST(Suite, PutsTheArgumentsOfAnOptionInThePlaceOfItsName) {
  const Suite suite = parsed(std::string(kHead) + kMode);
  const Placeholders values{{"model", "a"}, {"output", "/o"}};
  EXPECT_THAT(command_of(suite, option_values(suite, {}), values),
              ElementsAre("tool", "--only=a", "-o", "/o"));
  EXPECT_THAT(command_of(suite, option_values(suite, {{"mode", "slow"}}), values),
              ElementsAre("tool", "--only=a", "--slow", "a", "-o", "/o"));
  EXPECT_THROW(option_values(suite, {{"mode", "slower"}}), Error);
  EXPECT_THROW(option_values(suite, {{"mod", "slow"}}), Error);
}

TEST(Suite, NamesThePlaceOfWhatIsWrong) {
  EXPECT_THAT(suite_error("repeat = 3\nmodels = = 3\n"), StartsWith("folder/mine.toml: line 2"));
  EXPECT_THAT(suite_error(std::string(kHead) + "repaet = 3\n"),
              testing::AllOf(StartsWith("folder/mine.toml: line 4, column 1: unknown key 'repaet'"),
                             HasSubstr("did you mean 'repeat'")));
  EXPECT_THAT(
      suite_error("models = [\"a\"]\nlayers = [\"ccache\"]\ncommand = [\"tool\", \"{modle}\"]\n"),
      StartsWith("folder/mine.toml: line 3, column 20: unknown placeholder {modle}; did you mean 'model'"));
  EXPECT_THAT(suite_error("models = []\nlayers = [\"ccache\"]\ncommand = [\"tool\"]\n"),
              StartsWith("folder/mine.toml: line 1, column 10: no models"));
  EXPECT_THAT(suite_error("layers = [\"ccache\"]\ncommand = [\"tool\"]\n"), HasSubstr("no models"));
  EXPECT_THAT(suite_error("models = [\"a\", \"a\"]\nlayers = [\"ccache\"]\ncommand = [\"tool\"]\n"),
              HasSubstr("twice"));
  EXPECT_THAT(suite_error("models = [\"a\"]\ncommand = [\"tool\"]\n"), HasSubstr("no 'layers'"));
  EXPECT_THAT(
      suite_error("models = [\"a\"]\nlayers = [\"cache\"]\ncommand = [\"tool\"]\n"),
      StartsWith("folder/mine.toml: line 2, column 11: unknown cache layer 'cache'; did you mean 'ccache'"));
  EXPECT_THAT(suite_error("models = [\"a\"]\nlayers = [\"ccache\", \"ccache\"]\ncommand = [\"tool\"]\n"),
              StartsWith("folder/mine.toml: line 2, column 21: "));
  EXPECT_THAT(suite_error("models = [\"a\"]\nlayers = [\"ccache\"]\n"), HasSubstr("no command"));
  EXPECT_THAT(suite_error(std::string(kHead) + "repeat = 0\n" + kMode),
              StartsWith("folder/mine.toml: line 4, column 10"));
  EXPECT_THAT(suite_error(std::string(kHead) + "timeout = \"soon\"\n" + kMode),
              StartsWith("folder/mine.toml: line 4, column 11"));
  EXPECT_THAT(suite_error(std::string(kHead) + "order = \"any\"\n" + kMode), HasSubstr("neither"));
}

TEST(Suite, ChecksOptionsAndMetrics) {
  EXPECT_THAT(
      suite_error("models=[\"a\"]\nlayers=[\"ccache\"]\ncommand=[\"t\", \"x{mode}\"]\n" + std::string(kMode)),
      HasSubstr("one of its own"));
  EXPECT_THAT(suite_error(std::string(kHead) + "[options.model]\ndefault = \"x\"\nvalues = {x = []}\n"),
              HasSubstr("'model' is a placeholder already"));
  EXPECT_THAT(suite_error(std::string(kHead) + "[options.mode]\ndefault = \"x\"\nvalues = {y = []}\n"),
              HasSubstr("'x' is none of the values"));
  const auto metric = [](const std::string& inside) {
    return suite_error(std::string(kHead) + "metric = {" + inside + "}\n" + kMode);
  };
  EXPECT_THAT(metric("from = \"guess\""),
              StartsWith("folder/mine.toml: line 4, column 18: unknown source 'guess'"));
  EXPECT_THAT(metric("from = \"csv\", unit = \"s\""), HasSubstr("'column' is missing"));
  EXPECT_THAT(metric("from = \"csv\", column = \"t\""), HasSubstr("'unit' is missing"));
  EXPECT_THAT(metric("from = \"wall\", column = \"t\""), HasSubstr("has no meaning"));
  EXPECT_THAT(metric("from = \"wall\", unit = \"ms\""), HasSubstr("is s"));
  EXPECT_THAT(metric("from = \"output\", pattern = \"(\", unit = \"s\""), HasSubstr("regular expression"));
  EXPECT_THAT(metric("from = \"json\", pointer = \"x\", unit = \"s\""), HasSubstr("JSON pointer"));
  EXPECT_EQ(metric("from = \"cpu\""), "nothing was thrown");
}

TEST(Suite, SaysWhatAMachineLacks) {
  Suite suite = parsed(std::string(kHead) + kMode);
  EXPECT_THAT(lacking_for(suite, {}), IsEmpty());
  suite.needs.programs = {"sh", "no-such-program"};
  suite.needs.files = {"{here}/none"};
  EXPECT_THAT(lacking_for(suite, {{"here", "/no"}}),
              ElementsAre("the program no-such-program", "the file /no/none"));
  suite.needs = {{}, {}, {"sh", "-c", "echo torch 2 is missing >&2; exit 1"}};
  EXPECT_THAT(lacking_for(suite, {}), ElementsAre("torch 2 is missing"));
  suite.needs.check = {"true"};
  EXPECT_THAT(lacking_for(suite, {}), IsEmpty());
  suite.command.push_back("{suite_dir}/x");
  EXPECT_THAT(lacking_for(suite, {}), ElementsAre(HasSubstr("HEADROOM_SUITE_DIR")));
}

TEST(Suite, TheExampleOfTheDocumentIsOne) {
  const std::string document = read_file(HEADROOM_TEST_DATA "/../../docs/cache.md");
  const std::size_t begin = document.find("```toml\n") + 8;
  const Suite suite = parsed(document.substr(begin, document.find("```", begin) - begin));
  EXPECT_THAT(suite.models, ElementsAre("small", "large"));
  EXPECT_EQ(suite.options.size(), 1U);
}

TEST(Suite, ThoseThatComeWithTheProgramAreSuites) {
  for (const ShippedSuite& shipped : shipped_suites()) {
    const Suite suite = parse_suite(shipped.text, std::string(shipped.name) + ".toml", "/suites");
    EXPECT_EQ(suite.name, shipped.name);
    EXPECT_FALSE(suite.summary.empty()) << shipped.name;
  }
}

}  // namespace
}  // namespace headroom
