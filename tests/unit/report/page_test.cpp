// SPDX-License-Identifier: Apache-2.0
#include "headroom/page/page.h"

#include <gmock/gmock.h>

#include "headroom/page/page_assets.h"

namespace headroom {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(PageTest, DataEndsNoElementAndIsTheSameWhenItIsRead) {
  const Json data{{"</script><!--", "\xE2\x80\xA8 & \xE2\x80\xA9 <b>"}, {"\xE2\x80\xA6", "\xE2\x80"}};
  const std::string text = script_json(data);
  EXPECT_THAT(text, Not(HasSubstr("<")));
  EXPECT_THAT(text, Not(HasSubstr("&")));
  EXPECT_THAT(text, Not(HasSubstr("\xE2\x80\xA8")));
  EXPECT_THAT(text, Not(HasSubstr("\xE2\x80\xA9")));
  EXPECT_THAT(text, HasSubstr("\xE2\x80\xA6"));
  EXPECT_EQ(dump_json(parse_json(text, "page")), dump_json(data));
}

TEST(PageTest, JsonThatIsTextAlreadyBecomesAMemberOfTheData) {
  PageSection section{"trace", "a title", {{"answer", "yes"}}, {{"timeline", "[\"</script>\",1]"}}};
  const auto data_of = [](const PageSection& one) {
    const std::string html = page_html({"page", {}, {one}});
    const std::string begin = "data-kind=\"trace\">";
    const std::size_t from = html.find(begin) + begin.size();
    return dump_json(
        *json_at(parse_json(html.substr(from, html.find("</script>", from) - from), "page"), "/data"));
  };
  EXPECT_EQ(data_of(section), R"({"answer":"yes","timeline":["</script>",1]})");
  section.data = Json::object();
  section.texts.emplace_back("more", "2");
  EXPECT_EQ(data_of(section), R"({"timeline":["</script>",1],"more":2})");
}

TEST(PageTest, TextIsNoMarkup) {
  EXPECT_EQ(html_text("<a b=\"c\">&\x01\n"), "&lt;a b=&quot;c&quot;&gt;&amp;\xEF\xBF\xBD\n");
}

TEST(PageTest, ThePolicyKnowsStyleAndScriptByTheirHashesAlone) {
  const std::string html = page_html({"a title", {}, {{"run", "</title>", Json::object()}}});
  const PageAssets assets = page_assets();
  EXPECT_THAT(html, HasSubstr("script-src '" + std::string(assets.script_hash) + "'"));
  EXPECT_THAT(html, HasSubstr("<style>" + std::string(assets.style) + "</style>"));
  EXPECT_THAT(html, HasSubstr("<script>" + std::string(assets.script) + "</script>"));
  EXPECT_THAT(html, HasSubstr("Mike Bostock"));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
}

TEST(PageTest, APageIsKnownByItsBeginning) {
  const std::string html = page_html({"a title", {}, {}});
  EXPECT_TRUE(is_page_html(html));
  EXPECT_TRUE(is_page_html(std::string_view(html).substr(0, 1'000)));
  EXPECT_FALSE(is_page_html("<!DOCTYPE html>\n<html><head><title>headroom</title>"));
  EXPECT_FALSE(is_page_html(""));
}

}  // namespace
}  // namespace headroom
