// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/pickle.h"

#include "headroom/trace/readers/pickle_reader.h"

namespace headroom::trace::readers {

Pickle::Pickle(ByteSource& source) {
  PickleReader(source, *this).read();
}

std::int64_t Pickle::whole(Id value, std::int64_t absent) const {
  switch (kind(value)) {
    case Kind::kWhole:
    case Kind::kBool:
      return nodes_[value].whole;
    case Kind::kReal: {
      const double real = nodes_[value].real;
      return real > -0x1p63 && real < 0x1p63 ? static_cast<std::int64_t>(real) : absent;
    }
    default:
      return absent;
  }
}

std::string_view Pickle::text(Id value) const {
  const Kind of = kind(value);
  if (of != Kind::kText && of != Kind::kOther) return {};
  return std::string_view(texts_).substr(nodes_[value].place, nodes_[value].size);
}

const std::vector<Pickle::Id>& Pickle::list(Id value) const {
  static const std::vector<Id> kNone;
  return kind(value) == Kind::kList ? lists_[nodes_[value].place] : kNone;
}

Pickle::Id Pickle::at(Id dict, std::string_view key) const {
  if (kind(dict) != Kind::kDict) return kAbsent;
  const std::vector<Id>& members = lists_[nodes_[dict].place];
  for (std::size_t i = members.size() / 2; i > 0; --i) {
    if (kind(members[2 * i - 2]) == Kind::kText && text(members[2 * i - 2]) == key) return members[2 * i - 1];
  }
  return kAbsent;
}

}  // namespace headroom::trace::readers
