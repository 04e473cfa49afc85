// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// Records of `headroom ddp` in the form that PyTorch's DDP benchmark writes with --json and its diff.py
/// reads: for each model (and bucket size) the iterations of every rank in s, rank after rank, of the step
/// without DDP first. Steps that gave nothing are left out; a model whose step without DDP did is, too, as
/// readers take the first for that one. Members of our own in a model, so that readers tell results apart:
/// "image_size" where it is not the 224 of PyTorch's, "bucket_size" (MB) where there are several. `library`
/// is "libtorch 1.13.1".
std::string ddp_seed_report(const std::vector<Record>& records, const std::string& library,
                            const std::string& backend);

}  // namespace headroom
