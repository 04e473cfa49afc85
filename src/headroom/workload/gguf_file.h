// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "headroom/workload/stored_tensor.h"

namespace headroom {

/// What `bytes`, a whole GGUF file (version 2 or 3, little-endian), says of its model and where its tensors
/// lie. `source` names the file in errors. Of arrays only their lengths are kept. Throws Error, with the byte
/// where it is so, and the name of the tensor: no GGUF, another version, cut, a size that cannot be, a type
/// of numbers that is not read, a name that is there twice.
/// Source: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
StoredModel parse_gguf(std::span<const std::byte> bytes, const std::string& source);

/// Whether `bytes` begin as a GGUF file does.
bool is_gguf(std::span<const std::byte> bytes);

}  // namespace headroom
