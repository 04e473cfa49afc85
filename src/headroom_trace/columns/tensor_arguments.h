// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::trace {

/// Returns the bytes of one element, by the type's name in a trace: C++ names ("float", "c10::BFloat16",
/// "long int") in operators' arguments, ScalarType names ("Float", "BFloat16", "Long") in collectives'. 0 for
/// an unknown or non-tensor type ("Scalar", "TensorList", "").
double element_bytes(std::string_view type);

using Shape = std::vector<std::int64_t>;
/// Returns the product of the sizes; 1 for a tensor without dimensions. A double, because sizes in a file may
/// overflow an integer.
double elements_of(const Shape& shape);

/// One argument of an operator.
struct TensorArgument {
  std::vector<Shape> shapes;  ///< one; for a list of tensors one each
  bool is_list = false;
  std::string_view type;  ///< "float", "Scalar", "TensorList", ""
  bool is_tensor() const { return !is_list && element_bytes(type) > 0; }
  const Shape& shape() const { return shapes.front(); }
};

/// Parses the JSON texts of "Input Dims" ("[[8, 16], [], [[2], [3]]]") and "Input type" ("[\"float\",
/// \"Scalar\", \"TensorList\"]"). The types are views of `types`. Returns one argument per dims entry; empty
/// for a malformed text.
std::vector<TensorArgument> tensor_arguments(std::string_view dims, std::string_view types);

/// Returns the elements of a JSON list of strings without their quotes, escapes kept. Empty for any other
/// text.
std::vector<std::string_view> text_list(std::string_view json);

/// Puts a JSON text on one line: some writers indent shapes.
std::string on_one_line(std::string_view json);

}  // namespace headroom::trace
