// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/rank_conversation.h"

#include <fmt/format.h>

#include <optional>

#include "headroom/base/error.h"
#include "headroom/base/json_codec.h"

namespace headroom {
namespace {

/// What ranks may take to answer once the user wants to stop: a batch is short, unless one of them hangs.
constexpr std::chrono::seconds kInterruptPatience{2};

/// Throws Error where a rank was asked for something else than rank 0.
void require_same_arguments(const std::vector<RankHello>& hellos) {
  for (const RankHello& hello : hellos) {
    if (hello.arguments == hellos.front().arguments) continue;
    throw Error(
        fmt::format("rank {} was asked for {}, rank 0 for {}: start all ranks with the same arguments",
                    hello.rank, hello.arguments, hellos.front().arguments));
  }
}

}  // namespace

std::string refusal(const std::vector<Json>& replies) {
  for (const Json& reply : replies) {
    if (reply.is_object() && reply.contains("error")) return reply.value("error", "");
  }
  return {};
}

RankConversation::RankConversation(RankGroup& ranks, RankPatience patience, std::function<bool()> give_up)
    : ranks_(ranks), patience_(patience), give_up_(std::move(give_up)) {
  const auto lines = ranks_.gather(patience_.start, "a sign of having started", give_up_);
  if (!lines) throw Interrupted{};
  for (std::size_t rank = 0; rank < lines->size(); ++rank) {
    with_context(fmt::format("rank {}", rank), [&] {
      const Json hello = parse_json((*lines)[rank], "its greeting");
      if (hello.is_object() && hello.contains("error")) throw Error(hello.value("error", ""));
      hellos_.push_back(rank_hello_from_json(hello));
    });
  }
  require_same_arguments(hellos_);
  // Ranks give up later than we: then it is known which of them is missing.
  const double patience_s = std::chrono::duration<double>(patience_.reply + patience_.start).count();
  const auto replies = ask({{"do", "meet"}, {"timeout_s", patience_s}}, "a sign of having met the others");
  if (const std::string why = refusal(replies); !why.empty()) throw Error("the ranks did not meet: " + why);
}

void RankConversation::require_backend(const std::string& backend) {
  // gloo needs nothing that the ranks did not need to meet.
  if (backend == "gloo") return;
  const auto replies = ask({{"do", "backend"}, {"backend", backend}}, "whether it has " + backend);
  if (const std::string why = refusal(replies); !why.empty()) throw Error(why);
}

std::vector<Json> RankConversation::ask(Json request, const std::string& awaited) {
  ranks_.require_quiet();
  request["id"] = ++asked_;
  ranks_.send(dump_json(request));
  std::optional<std::chrono::steady_clock::time_point> asked_to_stop;
  const auto lines = ranks_.gather(patience_.reply, awaited, [&] {
    if (!gives_up()) return false;
    const auto now = std::chrono::steady_clock::now();
    if (!asked_to_stop) asked_to_stop = now;
    return now - *asked_to_stop > kInterruptPatience;
  });
  if (!lines) throw Interrupted{};
  std::vector<Json> replies;
  for (std::size_t rank = 0; rank < lines->size(); ++rank) {
    replies.push_back(parse_json((*lines)[rank], fmt::format("the answer of rank {}", rank)));
    if (hellos_[rank].ids) require_id(rank, replies.back());
  }
  return replies;
}

void RankConversation::require_id(std::size_t rank, const Json& reply) {
  std::uint64_t id = 0;
  try {
    id = json_member_as<std::uint64_t>(reply, "id", "its answer");
  } catch (const Error& error) {
    ranks_.lose(rank, error.what());
  }
  if (id != asked_) ranks_.lose(rank, fmt::format("an answer to request {} where {} was asked", id, asked_));
}

}  // namespace headroom
