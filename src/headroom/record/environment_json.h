// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom/base/json.h"
#include "headroom/record/environment.h"

namespace headroom::record_json {

/// The environment as it stands in a headroom file. `machines` and `dependencies` have the names and the form
/// of `runners` and `dependencies` in the OSS benchmark database.
Json write_environment(const Environment& environment);
Json write_machine(const Environment::Runner& machine);
Json write_dependencies(const Environment& environment);

/// `where` is the path of `object` in errors. Throws Error.
Environment::Runner read_machine(const Json& object, const std::string& where);
Environment::Dependency read_dependency(const Json& object, const std::string& where);
Environment read_environment_json(const Json& object, const std::string& where);

}  // namespace headroom::record_json
