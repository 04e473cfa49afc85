// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

namespace headroom::torch_runner {

/// What libtorch says went wrong, without its backtraces: of an error in TorchScript the line with the error,
/// of any other the first paragraph.
std::string failure_text(const std::exception& error);

}  // namespace headroom::torch_runner
