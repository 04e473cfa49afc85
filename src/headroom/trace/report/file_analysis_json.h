// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/trace/report/file_analysis.h"

namespace headroom::trace {

/// The analyses as text, to be sent to another process of the same version: what file_analyses_from_text
/// gives back is equal to the last bit. Bytes that are no UTF-8 become U+FFFD.
std::string to_text(std::span<const FileAnalysis> analyses);

/// Throws Error where the text is not from to_text.
std::vector<FileAnalysis> file_analyses_from_text(std::string_view text);

}  // namespace headroom::trace
