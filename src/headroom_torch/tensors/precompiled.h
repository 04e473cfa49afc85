// SPDX-License-Identifier: Apache-2.0
// The headers that every file here needs and that cost the most to parse.
#pragma once

#include <ATen/ATen.h>
