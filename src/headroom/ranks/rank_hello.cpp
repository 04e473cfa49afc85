// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/rank_hello.h"

#include "headroom/base/json_codec.h"
#include "headroom/runner/blas_protocol.h"

namespace headroom {

template <>
struct JsonMembers<RankHello> {
  static constexpr std::tuple kTable{required("rank", &RankHello::rank),
                                     required("size", &RankHello::size),
                                     required("pid", &RankHello::pid),
                                     required("library", &RankHello::library),
                                     required("no_counters", &RankHello::no_counters),
                                     optional("arguments", &RankHello::arguments),
                                     optional("host", &RankHello::host),
                                     optional("cores", &RankHello::cores),
                                     sparse("blas", &RankHello::blas),
                                     sparse("ids", &RankHello::ids)};
};

Json to_json(const RankHello& hello) {
  return json_of(hello);
}

RankHello rank_hello_from_json(const Json& json) {
  return json_to<RankHello>(json, JsonPath(""));
}

}  // namespace headroom
