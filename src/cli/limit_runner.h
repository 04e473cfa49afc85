// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace headroom::cli {

/// Path of headroom-native, which holds the machine's limits and the CPU experiments: beside this executable, in the
/// folder that this was installed to, or in PATH. Empty when there is none.
std::string find_native_runner();

}  // namespace headroom::cli
