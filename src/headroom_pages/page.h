// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headroom/base/json.h"

namespace headroom {

/// `kind` selects the script: headroom.sections.KIND of assets/sections/KIND.js.
struct PageSection {
  std::string kind;
  std::string title;
  Json data;
  /// Members of `data` that are already JSON text.
  std::vector<std::pair<std::string, std::string>> texts{};
};

struct PageLink {
  std::string text, href;
};

struct Page {
  std::string title;
  std::string note{};  ///< a line below the title; may be empty
  std::vector<PageSection> sections;
  std::vector<PageLink> links{};  ///< to other pages
  std::string feed{};             ///< URL of the Atom feed, or empty
  /// Version of the server's data (assets/live.js polls for a new one), or empty.
  std::string live{};
};

/// A self-contained HTML file, which loads nothing and runs no other script. Escapes texts.
std::string page_html(const Page& page);

struct PageFile {
  std::string name;  ///< "assets/page-0f3k2.css", named by content hash
  std::string_view content;
};
std::vector<PageFile> page_files();

/// As page_html, for one of many pages. `up`: path to the folder of page_files(), "../" or "".
std::string linked_page_html(const Page& page, const std::string& up);

/// Checks the first 1,000 bytes.
bool is_page_html(std::string_view text);

/// Escapes JSON for a <script type="application/json">.
std::string script_json(const Json& json);
std::string script_json_text(std::string_view json);

/// Escapes text for an element or a double-quoted attribute. Invalid characters become U+FFFD.
std::string html_text(std::string_view text);

/// assets/*.css, d3 and assets/*.js, joined by the build.
struct PageAssets {
  std::string_view style, script;            ///< content of the tags
  std::string_view style_hash, script_hash;  ///< "sha256-...", for a content security policy
};
PageAssets page_assets();

}  // namespace headroom
