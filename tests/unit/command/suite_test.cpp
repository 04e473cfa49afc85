// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "../error_message.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/command/command_line.h"
#include "headroom/command/measured_command.h"
#include "headroom/command/suite.h"

namespace headroom {
namespace {

using test::message_of;
using namespace testing;

const std::string kHead = R"(models = ["a", "b"]
layers = ["ccache", "env:MINE"]
command = ["tool", "--only={model}", "{mode}", "-o", "{output}"]
)";
const std::string kMode = R"([options.mode]
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
      parsed(kHead +
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
  const Suite suite = parsed(kHead + kMode);
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
  EXPECT_THAT(suite_error(kHead + "repaet = 3\n"),
              AllOf(StartsWith("folder/mine.toml: line 4, column 1: unknown key 'repaet'"),
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
  EXPECT_THAT(suite_error(kHead + "repeat = 0\n" + kMode), StartsWith("folder/mine.toml: line 4, column 10"));
  EXPECT_THAT(suite_error(kHead + "timeout = \"soon\"\n" + kMode),
              StartsWith("folder/mine.toml: line 4, column 11"));
  EXPECT_THAT(suite_error(kHead + "order = \"any\"\n" + kMode), HasSubstr("neither"));
}

TEST(Suite, ChecksOptionsAndMetrics) {
  EXPECT_THAT(suite_error("models=[\"a\"]\nlayers=[\"ccache\"]\ncommand=[\"t\", \"x{mode}\"]\n" + kMode),
              HasSubstr("a separate argument"));
  EXPECT_THAT(suite_error(kHead + "[options.model]\ndefault = \"x\"\nvalues = {x = []}\n"),
              HasSubstr("'model' is a placeholder already"));
  EXPECT_THAT(suite_error(kHead + "[options.mode]\ndefault = \"x\"\nvalues = {y = []}\n"),
              HasSubstr("'x' is not one of the values"));
  const auto metric = [](const std::string& inside) {
    return suite_error(kHead + "metric = {" + inside + "}\n" + kMode);
  };
  EXPECT_THAT(metric("from = \"guess\""),
              StartsWith("folder/mine.toml: line 4, column 18: unknown source 'guess'"));
  EXPECT_THAT(metric("from = \"csv\", unit = \"s\""), HasSubstr("'column' is missing"));
  EXPECT_THAT(metric("from = \"csv\", column = \"t\""), HasSubstr("'unit' is missing"));
  EXPECT_THAT(metric("from = \"wall\", column = \"t\""), HasSubstr("cannot be used with"));
  EXPECT_THAT(metric("from = \"wall\", unit = \"ms\""), HasSubstr("is s"));
  EXPECT_THAT(metric("from = \"output\", pattern = \"(\", unit = \"s\""), HasSubstr("regular expression"));
  EXPECT_THAT(metric("from = \"json\", pointer = \"x\", unit = \"s\""), HasSubstr("JSON pointer"));
  EXPECT_EQ(metric("from = \"cpu\""), "nothing was thrown");
}

TEST(Suite, SaysWhatAMachineLacks) {
  Suite suite = parsed(kHead + kMode);
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
  const std::string document = read_file(HEADROOM_TEST_DATA "/../../docs/reference/cache-suites.md");
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

TEST(Parameters, ListsOfValues) {
  EXPECT_THAT(listed_parameter("n", "a,b,c").values, ElementsAre("a", "b", "c"));
  EXPECT_THAT(listed_parameter("n", "a\\,b,c\\d").values, ElementsAre("a,b", "c\\d"));
  EXPECT_THAT(listed_parameter("n", "a,").values, ElementsAre("a", "")) << "an empty value is one";
  EXPECT_THAT(message_of([] { listed_parameter("n", ""); }), HasSubstr("no values"));
  EXPECT_THAT(message_of([] { listed_parameter("n", "a,b,a"); }), HasSubstr("given twice"));
  EXPECT_THAT(message_of([] { listed_parameter("", "a"); }), HasSubstr("parameter name"));
  EXPECT_THAT(message_of([] { listed_parameter("{n}", "a"); }), HasSubstr("parameter name"));
}

TEST(Parameters, StepsAreExactInDecimal) {
  EXPECT_THAT(stepped_parameter("n", "1", "7", "3").values, ElementsAre("1", "4", "7"));
  EXPECT_THAT(stepped_parameter("n", "1", "8", "3").values, ElementsAre("1", "4", "7"));
  EXPECT_THAT(stepped_parameter("n", "0", "0.3", "0.1").values, ElementsAre("0.0", "0.1", "0.2", "0.3"));
  EXPECT_THAT(stepped_parameter("n", "2", "-2", "-2").values, ElementsAre("2", "0", "-2"));
  EXPECT_THAT(stepped_parameter("n", "-0.5", "0.5", ".5").values, ElementsAre("-0.5", "0.0", "0.5"));
  EXPECT_THAT(stepped_parameter("n", "5", "5", "1").values, ElementsAre("5"));
}

TEST(Parameters, StepsThatLeadNowhereAreRefused) {
  EXPECT_THAT(message_of([] { stepped_parameter("n", "1", "5", "0"); }),
              HasSubstr("do not lead from 1 to 5"));
  EXPECT_THAT(message_of([] { stepped_parameter("n", "1", "5", "-1"); }), HasSubstr("do not lead"));
  EXPECT_THAT(message_of([] { stepped_parameter("n", "1", "1e9", "1"); }),
              HasSubstr("'1e9' is not a decimal"));
  EXPECT_THAT(message_of([] { stepped_parameter("n", "1", "1000000", "1"); }), HasSubstr("more than 10000"));
  for (const char* wrong : {"", "x", "1.2.3", "1.-2", "0.1234567890", "99999999999999999999"}) {
    EXPECT_THAT(message_of([&] { stepped_parameter("n", wrong, "5", "1"); }), HasSubstr("parameter n"))
        << wrong;
  }
}

TEST(Parameters, PointsAreAllCombinations) {
  EXPECT_THAT(parameter_points({}), ElementsAre(AxisTexts{}));
  const std::vector<CommandParameter> two{{"a", {"1", "2"}}, {"b", {"x", "y"}}};
  EXPECT_THAT(parameter_points(two),
              ElementsAre(AxisTexts{{"a", "1"}, {"b", "x"}}, AxisTexts{{"a", "1"}, {"b", "y"}},
                          AxisTexts{{"a", "2"}, {"b", "x"}}, AxisTexts{{"a", "2"}, {"b", "y"}}));
  const std::vector<CommandParameter> twice{{"a", {"1"}}, {"a", {"2"}}};
  EXPECT_THAT(message_of([&] { parameter_points(twice); }), HasSubstr("'a' is given twice"));
  const std::vector<CommandParameter> many(1, {"a", std::vector<std::string>(10'001)});
  EXPECT_THAT(message_of([&] { parameter_points(many); }), HasSubstr("combinations"));
}

TEST(Placeholders, AreNamesInBraces) {
  EXPECT_THAT(placeholder_names("--only={model} {layer.env:A}"), ElementsAre("model", "layer.env:A"));
  EXPECT_EQ(fill_placeholders("{a}{b}-{a}", {{"a", "1"}, {"b", "{a}"}}), "1{a}-1")
      << "values are not looked at again";
  EXPECT_EQ(fill_placeholders("{{{a}}}", {{"a", "1"}}), "{1}");
}

TEST(Placeholders, NeedTheirBracesAndAMeaning) {
  EXPECT_THROW(placeholder_names("{a"), Error);
  EXPECT_THROW(placeholder_names("a}"), Error);
  EXPECT_THROW(placeholder_names("{}"), Error);
  EXPECT_THROW(fill_placeholders("{b}", {{"a", "1"}}), Error);
}

TEST(Placeholders, OtherBracesOfACommandStay) {
  const std::vector<std::string> known{"work"};
  for (const std::string text : {"awk '{print $1}'", "{\"a\": {}}", "}{", "{", "{{work", "x"}) {
    EXPECT_EQ(fill_placeholders(escape_unknown_placeholders(text, known), {}), text);
  }
  EXPECT_EQ(fill_placeholders(escape_unknown_placeholders("{work}/{x}", known), {{"work", "W"}}), "W/{x}");
}

std::string refusal_of_line(std::string_view line) {
  return test::message_of([&] { split_command_line(line); });
}

TEST(CommandLine, SplitsAtBlanksAndReadsQuotes) {
  EXPECT_THAT(split_command_line("  a  b\tc\n"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(split_command_line("a 'b  $c'\"d 'e'\"f"), ElementsAre("a", "b  $cd 'e'f"));
  EXPECT_THAT(split_command_line("a '' \"\""), ElementsAre("a", "", ""));
  EXPECT_THAT(split_command_line("a \\| b\\ c d\\\ne"), ElementsAre("a", "|", "b c", "de"));
  EXPECT_THAT(split_command_line("a \"\\$x \\n \\\" \\\\\""), ElementsAre("a", "$x \\n \" \\"));
  EXPECT_THAT(split_command_line("a b#c # rest | of it\n d"), ElementsAre("a", "b#c", "d"));
  EXPECT_THAT(split_command_line("env A=1 --b=2 {x}"), ElementsAre("env", "A=1", "--b=2", "{x}"));
}

TEST(CommandLine, IsWhatTheShellMakesOfIt) {
  for (const char* line : {"printf '%s|' a 'b c' d\\ e \"f 'g' \\\" \\\\ \\x\" '' h#i",
                           "printf '%s|' \"'\" '\"' '\\' \\'", "printf '%s|' a=b 'c'\"d\"e\\f # comment"}) {
    CommandSpec split, shell;
    split.arguments = split_command_line(line);
    shell.arguments = shell_arguments(line);
    split.output = shell.output = CommandSpec::Output::kCapture;
    EXPECT_EQ(run_command(split).output, run_command(shell).output) << line;
  }
}

TEST(CommandLine, SaysWhereAQuoteIsOpen) {
  EXPECT_THAT(refusal_of_line("echo 'a b"), HasSubstr("byte 6: this single quote is never closed"));
  EXPECT_THAT(refusal_of_line("echo a\"b"), HasSubstr("byte 7: this double quote is never closed"));
  EXPECT_THAT(refusal_of_line("echo a\\"), HasSubstr("byte 7: there is nothing after this backslash"));
  for (const char* empty : {"", "  ", "# only a remark"})
    EXPECT_THAT(refusal_of_line(empty), HasSubstr("no command"));
}

TEST(CommandLine, RefusesWhatOnlyAShellCanDo) {
  for (const char* line : {"a | b", "a > b", "a; b", "a && b", "echo $HOME", "echo \"$HOME\"", "echo `b`",
                           "ls *.c", "ls ?", "ls [ab]", "(a)", "A=1 b", "ls ~"}) {
    EXPECT_THAT(refusal_of_line(line), HasSubstr("--shell")) << line;
  }
  EXPECT_THAT(refusal_of_line("a | b"), HasSubstr("byte 3: '|'"));
}

TEST(CommandLine, QuotedWordsComeBack) {
  for (const std::string text : {"plain", "", "two words", "it's", "$HOME", "a\\b", "A=1", "#", "~"}) {
    EXPECT_THAT(split_command_line("x " + quoted_word(text)), ElementsAre("x", text));
    EXPECT_THAT(split_command_line(quoted_word("x" + text)), ElementsAre("x" + text));
  }
  EXPECT_EQ(quoted_word("a/b-c.d"), "a/b-c.d");
}

TEST(CommandLine, PlaceholdersAreReplacedOnceAndOthersStay) {
  EXPECT_EQ(with_placeholders("sort -n {n} {file}{n} '{print}' {", {{"n", "4"}, {"file", "{n}"}}),
            "sort -n 4 {n}4 '{print}' {");
  EXPECT_EQ(with_placeholders("", {{"n", "4"}}), "");
}

}  // namespace
}  // namespace headroom
