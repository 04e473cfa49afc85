// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "headroom/workload/stored_tensor.h"

namespace headroom {

/// The tensors of `bytes`, a whole safetensors file, of F32, F16 or BF16. `source` names the file in errors.
/// Throws Error, with the tensor's name and the byte: cut, a header that is no JSON or larger than 100 MB, a
/// shape that does not fit its bytes, bytes that lie outside, a type that is not read.
/// Source: https://huggingface.co/docs/safetensors (format)
StoredModel parse_safetensors(std::span<const std::byte> bytes, const std::string& source);

}  // namespace headroom
