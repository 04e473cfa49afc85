// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace headroom {

/// `text` as it may stand in XML or HTML, in an element or in an attribute between double quotes. A control
/// character of ASCII becomes `control`, unless it is one of `kept`.
std::string markup_text(std::string_view text, std::string_view control, std::string_view kept = {});

}  // namespace headroom
