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

/// What is shown in a browser.
struct Page {
  std::string title;
  std::string note{};  ///< a line below the title; may be empty
  std::vector<PageSection> sections;
};

/// The page as one file of HTML that loads nothing else and may run no other script than ours. Texts may hold
/// anything: they are data, never markup.
std::string page_html(const Page& page);

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

}  // namespace headroom
