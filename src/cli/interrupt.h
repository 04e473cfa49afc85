// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace headroom::cli {

/// Set once Ctrl-C (or TERM) came; a second one ends the program at once. Installs the handlers when first called.
const std::atomic<bool>& interrupt_flag();

}  // namespace headroom::cli
