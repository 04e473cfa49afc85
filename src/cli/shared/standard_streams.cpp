// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "cli/shared/say.h"

namespace headroom::cli {

void open_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest free number is that of the stream, since those below it are open by now.
    const int opened = ::open("/dev/null", stream == STDIN_FILENO ? O_RDONLY : O_WRONLY);
    if (opened == -1) return;
  }
}

ExitCode after_output(ExitCode code) {
  const bool failed_before = std::ferror(stdout) != 0;
  errno = 0;
  if (std::fflush(stdout) == 0 && !failed_before) return code;
  // Of an earlier failure the reason is gone; it was most likely the same.
  say("cannot write to standard output{}{}", errno != 0 ? ": " : "", errno != 0 ? std::strerror(errno) : "");
  return ExitCode::kCannot;
}

}  // namespace headroom::cli
