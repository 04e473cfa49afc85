// SPDX-License-Identifier: Apache-2.0
// Crashes when it is loaded (peers_test.py).
#include <signal.h>

#include "headroom/experiment/peer.h"

__attribute__((constructor)) static void crash(void) {
  raise(SIGSEGV);
}

int good(const struct headroom_peer_call* call) {
  return call->rows > 0 ? HEADROOM_PEER_DONE : HEADROOM_PEER_CANNOT;
}
