// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/record_options.h"

#include <cstdio>

#include "cli/shared/option_table.h"
#include "cli/shared/say.h"
#include "headroom/base/error.h"
#include "headroom/history/store.h"

namespace headroom::cli {

void declare_record_files(OptionTable& table, std::string& json, std::string& oss) {
  table.add_option("--json", json, "all records with all samples ('-': standard output)")
      .completed_by(Completes::kFile);
  table.add_option("--oss", oss, "PyTorch OSS benchmark database records, schema v3")
      .completed_by(Completes::kFile);
  table.add_no_follow();
}

void declare_store(OptionTable& table, std::string& store, bool& no_store) {
  table.add_option("--store", store, "history to append to (default: HEADROOM_STORE, or the user's)")
      .completed_by(Completes::kFile);
  table.add_flag("--no-store", no_store, "keep no history of this run");
}

void settle_store(std::string& store, bool no_store) {
  if (no_store) {
    store.clear();
  } else if (store.empty()) {
    try {
      store = default_store();
    } catch (const Error& error) {
      say("no history is kept: {}, or give --store FILE or --no-store", error.what());
    }
  }
}

}  // namespace headroom::cli
