// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::trace {

/// Bytes of one element, by the name that a trace gives a type: C++'s ("float", "c10::BFloat16",
/// "long int") in operators' arguments, ScalarType's ("Float", "BFloat16", "Long") in collectives'.
/// 0 for what is no type of a tensor ("Scalar", "TensorList", "") or not known.
double element_bytes(std::string_view type);

using Shape = std::vector<std::int64_t>;
/// The product of the sizes: 1 for a tensor without dimensions. A double, as a product of sizes from a file
/// may be anything.
double elements_of(const Shape& shape);

/// One argument of an operator.
struct TensorArgument {
  std::vector<Shape> shapes;  ///< one; for a list of tensors one each
  bool is_list = false;
  std::string_view type;  ///< "float", "Scalar", "TensorList", ""
  bool is_tensor() const { return !is_list && element_bytes(type) > 0; }
  const Shape& shape() const { return shapes.front(); }
};

/// The arguments from the JSON texts of "Input Dims" ("[[8, 16], [], [[2], [3]]]") and "Input type"
/// ("[\"float\", \"Scalar\", \"TensorList\"]"). The types are views of `types`. As many as there are dims;
/// empty when the text is none of that form.
std::vector<TensorArgument> tensor_arguments(std::string_view dims, std::string_view types);

/// The elements of a JSON list of texts, without their quotes; escapes stay as they are. Empty when it is
/// none.
std::vector<std::string_view> text_list(std::string_view json);

/// A JSON text of the file on one line: some writers indent shapes.
std::string on_one_line(std::string_view json);

}  // namespace headroom::trace
