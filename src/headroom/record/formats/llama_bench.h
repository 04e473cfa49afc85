// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/record/formats.h"

namespace headroom {

/// What llama-bench writes with -o jsonl or -o json (read).
Format llama_bench_format();

}  // namespace headroom
