// SPDX-License-Identifier: Apache-2.0
#include "headroom/runner/serve.h"

#include <fcntl.h>
#include <sys/prctl.h>

#include <csignal>
#include <cstdlib>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/experiment/buffer.h"
#include "headroom/runner/protocol.h"
#include "headroom/runner/registry_server.h"

namespace headroom {
std::optional<Channel> inherited_channel() {
  const char* text = std::getenv(kSocketVariable);
  if (text == nullptr) return std::nullopt;
  const auto fd = to_integer(text);
  if (!fd || !std::in_range<int>(*fd) || *fd < 0 || fcntl(static_cast<int>(*fd), F_GETFD) < 0) {
    throw Error(std::string(kSocketVariable) + "=" + text +
                " is not an open descriptor; this variable is set by headroom for its runners, unset it");
  }
  fcntl(static_cast<int>(*fd), F_SETFD, FD_CLOEXEC);
  unsetenv(kSocketVariable);
  return Channel(static_cast<int>(*fd));
}

void serve(Channel channel, Registry& registry, const std::string& name,
           const std::vector<std::string>& arguments) {
  // A runner in an endless loop must not outlive the command line that asked for it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  converse(std::move(channel), registry, name, arguments);
}

void converse(Channel channel, Registry& registry, const std::string& name,
              const std::vector<std::string>& arguments) {
  try {
    static_cast<void>(page_wish());  // no case need fail of what a variable says
    registry.require();
    registry.take_arguments(arguments);
  } catch (const std::exception& error) {
    channel.write_line(dump_json({{"error", error.what()}}));
    return;
  }
  RegistryServer server(registry);
  const bool traces = registry.tracer() != nullptr;
  const Hello hello{name, HEADROOM_VERSION, kProtocolVersion, traces, true, server.counts()};
  if (!channel.write_line(dump_json(to_json(hello)))) return;
  std::string line;
  while (channel.read_line(line, std::chrono::milliseconds(-1)) == Channel::Status::kLine) {
    Json request, reply;
    try {
      request = parse_json(line, "request");
      if (request.is_object() && request.value("do", "") == "quit") return;
      reply = server.answer(request);
    } catch (const ProcessLost& lost) {
      channel.write_line(dump_json({{"error", lost.what()}}));
      return;
    } catch (const std::exception& error) {
      reply = {{"error", error.what()}};
    }
    if (request.is_object() && request.contains("id")) reply["id"] = request["id"];
    if (!channel.write_line(dump_json(reply))) return;
  }
}

}  // namespace headroom
