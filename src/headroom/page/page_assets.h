// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace headroom {

/// What every page has in it beside its data: assets/*.css, d3 and assets/*.js, put together by the build.
struct PageAssets {
  std::string_view style, script;            ///< what stands between the tags
  std::string_view style_hash, script_hash;  ///< "sha256-...", for a content security policy
};
PageAssets page_assets();

}  // namespace headroom
