// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace headroom::cli {

class OptionTable;

/// --json and --oss, of every command that makes records.
void declare_record_files(OptionTable& table, std::string& json, std::string& oss);

/// --store and --no-store.
void declare_store(OptionTable& table, std::string& store, bool& no_store);

/// What they come to: the store that was named, else the default one; empty where no history is to be kept.
void settle_store(std::string& store, bool no_store);

}  // namespace headroom::cli
