// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// What the names in braces stand for: {"model", "resnet50"}.
using Placeholders = std::map<std::string, std::string, std::less<>>;

/// The names in braces of a text such as "--only={model}"; "{{" and "}}" are plain braces. Throws Error on a
/// brace without its partner and on an empty name.
std::vector<std::string> placeholder_names(std::string_view text);

/// The text with every name replaced. Throws Error naming what stands for nothing.
std::string fill_placeholders(std::string_view text, const Placeholders& values);

/// The text as a template in which only the names in `known` are placeholders: all other braces are doubled.
std::string escape_unknown_placeholders(std::string_view text, const std::vector<std::string>& known);

}  // namespace headroom
