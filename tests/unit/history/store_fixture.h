// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "../error_message.h"
#include "headroom/base/files.h"
#include "headroom/history/database.h"
#include "headroom/history/store.h"
#include "headroom/record/record.h"

namespace headroom::test {

enum class Backend { kSqlite, kPostgresql };

/// Only PostgreSQL if HEADROOM_TEST_POSTGRESQL names a server: its contents are lost.
inline std::vector<Backend> backends() {
  if (std::getenv("HEADROOM_TEST_POSTGRESQL") != nullptr) return {Backend::kPostgresql};
  return {Backend::kSqlite};
}

inline std::string backend_name(const testing::TestParamInfo<Backend>& info) {
  return info.param == Backend::kSqlite ? "Sqlite" : "Postgresql";
}

class TemporaryFolder : public headroom::TemporaryFolder {
 public:
  std::string operator/(const std::string& name) const { return path() / name; }
};

inline std::shared_ptr<Environment> environment_at(std::uint64_t time,
                                                   const std::string& fingerprint = "machine-a",
                                                   const std::string& git_sha = "") {
  auto environment = std::make_shared<Environment>();
  environment->timestamp = time;
  environment->fingerprint = fingerprint;
  environment->git_sha = git_sha;
  environment->headroom_version = "0.1.0";
  return environment;
}

inline Record record_of(const std::string& experiment, double value,
                        std::shared_ptr<const Environment> environment) {
  Record record;
  record.model.name = experiment;
  record.model.backend = "native";
  record.axes = {{"D", "64"}};
  record.device = "cpu";
  record.metric.name = "latency";
  record.metric.unit = "us";
  record.metric.value = value;
  record.interval = Interval{value * 0.99, value * 1.01, 0.95};
  record.samples = {{1, 10, 0, {value, value, value}, {0, 1, 2}, {}}};
  record.environment = std::move(environment);
  return record;
}

inline std::vector<Record> run_at(std::uint64_t time, double value, std::size_t records = 3) {
  const auto environment = environment_at(time);
  std::vector<Record> run;
  for (std::size_t i = 0; i < records; ++i) {
    run.push_back(record_of("experiment" + std::to_string(i), value + static_cast<double>(i), environment));
  }
  return run;
}

class StorePlace {
 public:
  explicit StorePlace(Backend backend) : backend_(backend) {
    if (backend == Backend::kSqlite) {
      place_ = folder_ / "deep/history.sqlite";
      return;
    }
    place_ = std::getenv("HEADROOM_TEST_POSTGRESQL");
    database()->execute("DROP SCHEMA headroom CASCADE");
  }
  std::unique_ptr<Database> database() const {
    return backend_ == Backend::kSqlite ? open_sqlite(place_, StoreAccess::kReadWrite)
                                        : open_postgresql(place_, StoreAccess::kReadWrite);
  }
  const std::string& url() const { return place_; }
  Backend backend() const { return backend_; }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  Backend backend_;
  TemporaryFolder folder_;
  std::string place_;
};

class StoreTest : public testing::TestWithParam<Backend> {
 protected:
  std::unique_ptr<Store> open(StoreAccess access = StoreAccess::kReadWrite) {
    return open_store(place_.url(), access);
  }

  StorePlace place_{GetParam()};
};

}  // namespace headroom::test
