// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace headroom::cli {

/// --json and --oss, of every command that makes records.
void declare_record_files(CLI::App& app, std::string& json, std::string& oss);

/// --store and --no-store.
void declare_store(CLI::App& app, std::string& store, bool& no_store);

/// What they come to: the store that was named, else the default one; empty where no history is to be kept.
void settle_store(std::string& store, bool no_store);

}  // namespace headroom::cli
