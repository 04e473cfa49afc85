// SPDX-License-Identifier: Apache-2.0
#include "headroom_pages/page.h"

#include <fmt/format.h>

#include <cctype>

#include "headroom/base/text.h"

namespace headroom {
namespace {

constexpr std::string_view kGenerator = "<meta name=\"generator\" content=\"headroom ";

std::string policy(std::string_view script, std::string_view style, bool is_live) {
  return fmt::format(
      "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; base-uri 'none'; form-action "
      "'none'{}",
      script, style, is_live ? "; connect-src 'self'" : "");
}

std::string data_element(const std::string& kind, const std::string& json) {
  return "<script type=\"application/json\" data-kind=\"" + html_text(kind) + "\">" + json + "</script>\n";
}

std::string section_json(const PageSection& section) {
  std::string json = "{\"title\":" + script_json(section.title) + ",\"data\":" + script_json(section.data);
  if (!section.texts.empty()) json.pop_back();  // the closing bracket of data
  for (const auto& [name, text] : section.texts) {
    if (!json.ends_with('{')) json += ',';
    json += script_json(name) + ':';
    json += script_json_text(text);
  }
  if (!section.texts.empty()) json += '}';
  return json + '}';
}

std::string head(const Page& page, const std::string& policy, const std::string& style) {
  const std::string feed =
      page.feed.empty() ? ""
                        : fmt::format("<link rel=\"alternate\" type=\"application/atom+xml\" href=\"{}\">\n",
                                      html_text(page.feed));
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{}{}\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>{}</title>\n{}{}</head>\n",
      kGenerator, HEADROOM_VERSION, policy, html_text(page.title), feed, style);
}

std::string body(const Page& page, const std::string& script, const std::string& up) {
  std::string html = fmt::format(
      "<body>\n<noscript><h1>{}</h1><p>This page needs JavaScript: open it in a browser that runs "
      "scripts.</p></noscript>\n",
      html_text(page.title));
  Json about{
      {"title", page.title}, {"note", page.note}, {"version", HEADROOM_VERSION}, {"links", Json::array()}};
  for (const PageLink& link : page.links)
    about["links"].push_back({{"text", link.text}, {"href", link.href}});
  if (!page.live.empty()) about["live"] = {{"tag", page.live}, {"href", up + "live.json"}};
  html += data_element("page", script_json(about));
  for (const PageSection& section : page.sections) html += data_element(section.kind, section_json(section));
  return html + script + "\n</body>\n</html>\n";
}

/// "assets/page-0f3k2.css"
std::string file_name(std::string_view hash, const char* ending) {
  constexpr std::size_t kLetters = 12;
  std::string letters;
  for (const char c : hash.substr(hash.find('-') + 1)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 && letters.size() < kLetters) letters += c;
  }
  return fmt::format("assets/page-{}.{}", letters, ending);
}

}  // namespace

std::string html_text(std::string_view text) {
  return markup_text(text, "\xEF\xBF\xBD", "\n\t");
}

std::string script_json(const Json& json) {
  return script_json_text(dump_json(json));
}

std::string script_json_text(std::string_view plain) {
  constexpr std::string_view kSeparators = "\xE2\x80";  // the first two bytes of U+2028 and U+2029
  std::string text;
  text.reserve(plain.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const char c = plain[i];
    if (c == '<') {
      text += "\\u003c";
    } else if (c == '>') {
      text += "\\u003e";
    } else if (c == '&') {
      text += "\\u0026";
    } else if (plain.substr(i, 2) == kSeparators && (plain[i + 2] == '\xA8' || plain[i + 2] == '\xA9')) {
      text += plain[i + 2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      text += c;
    }
  }
  return text;
}

std::string page_html(const Page& page) {
  const PageAssets assets = page_assets();
  std::string style = "<style>", script = "<script>";
  style.append(assets.style).append("</style>\n");
  script.append(assets.script).append("</script>");
  return head(page, policy(assets.script_hash, assets.style_hash, !page.live.empty()), style) +
         body(page, script, "");
}

std::vector<PageFile> page_files() {
  const PageAssets assets = page_assets();
  return {{file_name(assets.style_hash, "css"), assets.style},
          {file_name(assets.script_hash, "js"), assets.script}};
}

std::string linked_page_html(const Page& page, const std::string& up) {
  const std::vector<PageFile> files = page_files();
  return head(page, policy("self", "self", !page.live.empty()),
              fmt::format("<link rel=\"stylesheet\" href=\"{}{}\">\n", up, files.front().name)) +
         body(page, fmt::format("<script src=\"{}{}\"></script>", up, files.back().name), up);
}

bool is_page_html(std::string_view text) {
  constexpr std::size_t kHead = 1'000;
  return text.starts_with("<!DOCTYPE html>") && contains(text.substr(0, kHead), kGenerator);
}

}  // namespace headroom
