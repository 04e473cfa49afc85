// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "headroom/trace/columns/trace.h"
#include "headroom/trace/readers/read.h"

namespace headroom::trace::readers {

/// The category of a "cat" as any of the known writers spells it; kOther for everything else.
Category category_of(std::string_view text);

/// What has to be asked for so that events of a category are kept; kGpuWork: they always are.
Needs need_of(Category category);

}  // namespace headroom::trace::readers
