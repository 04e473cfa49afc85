// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headroom/base/json.h"

namespace headroom {

/// A part of a page. `kind` names what draws it: headroom.sections.KIND of assets/sections/KIND.js.
struct PageSection {
  std::string kind;
  std::string title;
  Json data;
  /// Members of `data` by name that are JSON text already, for what is large.
  std::vector<std::pair<std::string, std::string>> texts{};
};

struct PageLink {
  std::string text, href;
};

/// What is shown in a browser.
struct Page {
  std::string title;
  std::string note{};  ///< a line below the title; may be empty
  std::vector<PageSection> sections;
  std::vector<PageLink> links{};  ///< to other pages, beside those to the sections
  std::string feed{};             ///< where its Atom feed is; empty: none
  /// What its server calls what the page shows (assets/live.js asks for what is new); empty: no server.
  std::string live{};
};

/// The page as one file of HTML that loads nothing else and may run no other script than ours. Texts may hold
/// anything: they are data, never markup.
std::string page_html(const Page& page);

/// A file that pages of one folder share.
struct PageFile {
  std::string name;  ///< "assets/page-0f3k2.css": another one for another content
  std::string_view content;
};
/// Style and scripts.
std::vector<PageFile> page_files();

/// As page_html, for one of many pages: style and scripts are page_files(), below the folder `up` ("../", ""
/// where the page stands in that).
std::string linked_page_html(const Page& page, const std::string& up);

/// Whether `text`, or the first 1,000 bytes of it, is a page that page_html made.
bool is_page_html(std::string_view text);

/// JSON as it may stand in a <script type="application/json">: nothing in it ends the element, opens a
/// comment, or ends a line.
std::string script_json(const Json& json);
/// The same of JSON text.
std::string script_json_text(std::string_view json);

/// Text as it may stand in an element or in an attribute between double quotes. Characters that no document
/// may hold become U+FFFD.
std::string html_text(std::string_view text);

/// What every page has in it beside its data: assets/*.css, d3 and assets/*.js, put together by the build.
struct PageAssets {
  std::string_view style, script;            ///< what stands between the tags
  std::string_view style_hash, script_hash;  ///< "sha256-...", for a content security policy
};
PageAssets page_assets();

}  // namespace headroom
