// SPDX-License-Identifier: Apache-2.0
#include "headroom/runner/ddp_protocol.h"

#include <limits>

#include "headroom/base/error.h"
#include "headroom/base/json_numbers.h"
#include "headroom/runner/idle_answer.h"

namespace headroom {
namespace {}  // namespace

Json to_json(const DdpSetup& setup) {
  return {{"model", setup.model},
          {"batch_size", setup.batch_size},
          {"image_size", setup.image_size},
          {"ranks", setup.ranks},
          {"bucket_bytes", setup.bucket_bytes},
          {"ddp", setup.ddp},
          {"threads", setup.threads},
          {"each_alone", setup.each_alone},
          {"seed", setup.seed},
          {"backend", setup.backend},
          {"reducer", setup.reducer}};
}

DdpSetup ddp_setup_from_json(const Json& json) {
  DdpSetup setup;
  setup.model = json_string(json, "model", "");
  setup.batch_size = json_integer<std::int64_t>(json, "batch_size", "", 1);
  setup.image_size = json_integer<std::int64_t>(json, "image_size", "", 1);
  setup.ranks = json_integer<int>(json, "ranks", "", 1);
  setup.bucket_bytes = json_integer<std::int64_t>(json, "bucket_bytes", "", 1);
  setup.ddp = json_bool(json, "ddp", "");
  setup.threads = json_integer<int>(json, "threads", "", 1);
  setup.each_alone = json_bool(json, "each_alone", "");
  setup.seed = json_integer<std::uint64_t>(json, "seed", "");
  setup.backend = json_string(json, "backend", "");
  setup.reducer = json_string(json, "reducer", "");
  return setup;
}

Json to_json(const DdpReady& ready) {
  if (ready.idle) return {{"idle", true}};
  return {{"parameters", ready.parameters},
          {"tensors", ready.tensors},
          {"takes_images", ready.takes_images},
          {"layout", ready.layout},
          {"need_bytes", ready.need_bytes},
          {"available_bytes", ready.available_bytes},
          {"host", ready.host}};
}

DdpReady ddp_ready_from_json(const Json& json) {
  DdpReady ready;
  ready.idle = is_idle(json);
  if (ready.idle) return ready;
  ready.parameters = json_integer<std::int64_t>(json, "parameters", "");
  ready.tensors = json_integer<std::int64_t>(json, "tensors", "");
  ready.takes_images = json_bool(json, "takes_images", "");
  ready.layout = json_string(json, "layout", "");
  ready.need_bytes = json_integer<std::int64_t>(json, "need_bytes", "");
  ready.available_bytes = json_integer<std::int64_t>(json, "available_bytes", "");
  ready.host = json_string(json, "host", "");
  return ready;
}

Json to_json(const DdpRounds& rounds) {
  if (rounds.idle) return {{"idle", true}};
  Json buckets = Json::array();
  for (const DdpBucket& bucket : rounds.buckets) {
    buckets.push_back({{"bytes", bucket.bytes},
                       {"tensors", bucket.tensors},
                       {"launched_ns", bucket.launched_ns},
                       {"completed_ns", bucket.completed_ns}});
  }
  return {{"iteration_ns", rounds.iteration_ns}, {"alone_ns", rounds.alone_ns},
          {"forward_ns", rounds.forward_ns},     {"backward_ns", rounds.backward_ns},
          {"step_ns", rounds.step_ns},           {"wait_ns", rounds.wait_ns},
          {"hidden_ns", rounds.hidden_ns},       {"communication_ns", rounds.communication_ns},
          {"buckets", std::move(buckets)}};
}

DdpRounds ddp_rounds_from_json(const Json& json) {
  DdpRounds rounds;
  rounds.idle = is_idle(json);
  if (rounds.idle) return rounds;
  rounds.iteration_ns = json_numbers(json, "iteration_ns", "");
  rounds.alone_ns = json_numbers(json, "alone_ns", "");
  rounds.forward_ns = json_numbers(json, "forward_ns", "");
  rounds.backward_ns = json_numbers(json, "backward_ns", "");
  rounds.step_ns = json_numbers(json, "step_ns", "");
  rounds.wait_ns = json_numbers(json, "wait_ns", "");
  rounds.communication_ns = json_numbers(json, "communication_ns", "");
  rounds.hidden_ns = json_numbers(json, "hidden_ns", "");
  for (const Json& bucket : json_array(json, "buckets", "")) {
    rounds.buckets.push_back({json_integer<std::int64_t>(bucket, "bytes", "/buckets"),
                              json_integer<std::int64_t>(bucket, "tensors", "/buckets"),
                              json_numbers(bucket, "launched_ns", "/buckets"),
                              json_numbers(bucket, "completed_ns", "/buckets")});
  }
  return rounds;
}

Json to_json(const DdpAgreement& agreement) {
  if (agreement.idle) return {{"idle", true}};
  return {{"parameters", agreement.parameters}, {"unused", agreement.unused}, {"loss", agreement.loss}};
}

DdpAgreement ddp_agreement_from_json(const Json& json) {
  DdpAgreement agreement;
  agreement.idle = is_idle(json);
  if (agreement.idle) return agreement;
  agreement.parameters = json_string(json, "parameters", "");
  for (const Json& name : json_array(json, "unused", "")) {
    if (!name.is_string()) throw Error("/unused: expected strings");
    agreement.unused.push_back(name.get<std::string>());
  }
  // A loss that is no number any more comes as null.
  agreement.loss = json_number_or(json, "loss", std::numeric_limits<double>::quiet_NaN(), "");
  return agreement;
}

std::vector<std::vector<double>> ddp_reductions_from_json(const Json& json) {
  std::vector<std::vector<double>> sizes;
  if (is_idle(json)) return sizes;
  for (const Json& times : json_array(json, "ns", "")) {
    sizes.push_back(json_numbers(Json{{"ns", times}}, "ns", "/ns"));
  }
  return sizes;
}

}  // namespace headroom
