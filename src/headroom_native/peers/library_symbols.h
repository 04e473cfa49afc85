// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace headroom::native {

/// The functions that a shared library exports, in no order. Nothing of it is run. Throws Error naming the
/// path: missing, no file, not ELF, of another architecture than this program, a program or an object file.
std::vector<std::string> exported_functions(const std::string& path);

}  // namespace headroom::native
