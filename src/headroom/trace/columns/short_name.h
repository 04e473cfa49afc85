// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace headroom::trace {

/// The name of a kernel without what tells its instances apart: template arguments, parameters, the return
/// type, anonymous namespaces, clone marks. "void at::native::add<float>(int)" -> "at::native::add". Copies
/// and sets keep their names. Two kernels of one template have the same short name.
std::string short_name(std::string_view name);

/// The name alone, without namespaces and template arguments but for the functor of a generic kernel:
/// "vectorized_elementwise_kernel<AddFunctor>".
std::string telling_name(std::string_view name);

}  // namespace headroom::trace
