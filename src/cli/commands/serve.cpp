// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/serve.h"

#include <fmt/format.h>
#include <poll.h>

#include <cstdint>
#include <cstdio>

#include "cli/shared/http_server.h"
#include "cli/shared/interrupt.h"
#include "cli/shared/option_table.h"
#include "cli/shared/say.h"
#include "cli/shared/served_history.h"
#include "headroom/compare/margins.h"
#include "headroom/history/store.h"

namespace headroom::cli {
namespace {

constexpr const char* kServeFooter =
    "Pages of `headroom history --site`, made when they are asked for, and what is being measured just now. "
    "They\n"
    "follow the history while they are looked at. Only browsers of this machine are answered, of any of its "
    "users;\n"
    "from elsewhere: ssh -L 8425:127.0.0.1:8425 HOST. Ctrl-C ends it.\n"
    "examples:\n"
    "  headroom serve                                  http://127.0.0.1:8425/\n"
    "  headroom serve --port 0                         on a port that is free\n"
    "  headroom serve --store postgresql://ci@db/perf  the history of a team";

}  // namespace

ExitCode serve(const Arguments& arguments) {
  std::string store, min_magnitude = "0";
  std::uint16_t port = 8425;
  OptionTable table("Shows the history in a browser, as it is now, and what is being measured.",
                    "headroom serve");
  table.footer(kServeFooter);
  table.add_option("--port", port, "port on 127.0.0.1; 0: one that is free (default 8425)");
  table
      .add_option("--min-magnitude", min_magnitude,
                  "leave out changes of less than this share of the level before (default 0)")
      .type_name("SHARE");
  table.add_option("--store", store,
                   "file, or postgresql://USER@HOST/NAME (default: HEADROOM_STORE, else the user's)");
  if (const auto done = parse_arguments(table, arguments)) return *done;
  const auto& is_interrupted = interrupt_flag();
  ServedHistory history(store.empty() ? default_store() : store, parse_margin(min_magnitude));
  const HttpServer server(port, [&history](const std::string& path) { return history.answer(path); });
  print_text(fmt::format("http://127.0.0.1:{}/ until Ctrl-C\n", server.port()), stdout);
  std::fflush(stdout);
  // A signal ends the wait at once.
  constexpr int kLookEvery_ms = 200;
  while (!is_interrupted) ::poll(nullptr, 0, kLookEvery_ms);
  return ExitCode::kFine;
}

}  // namespace headroom::cli
