// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace headroom {

struct DdpReport;

/// The comparison of two reports of PyTorch's DDP benchmark, byte for byte as its own diff.py prints it, for
/// those who parse that. Results are matched by position, as there: the default form of `headroom diff` is
/// the one that matches by model, batch size and rank count. Throws Error where diff.py would stop with an
/// exception: a member that it needs is missing, a list of measurements is empty, a time is zero.
std::string ddp_diff(const DdpReport& baseline, const DdpReport& test);

/// The same for two files, read at the same time.
std::string ddp_diff(const std::filesystem::path& baseline, const std::filesystem::path& test);

}  // namespace headroom
