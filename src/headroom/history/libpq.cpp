// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/libpq.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "headroom/base/error.h"

namespace headroom {
namespace {

constexpr const char* kLibrary = "libpq.so.5";

template <typename Function>
void find(void* library, const char* name, Function& function) {
  void* symbol = ::dlsym(library, name);
  if (symbol == nullptr) throw Error(fmt::format("{} has no {}: it is too old for headroom", kLibrary, name));
  function = reinterpret_cast<Function>(symbol);
}

Libpq load() {
  void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Error(
        fmt::format("a history in PostgreSQL needs {}, which was not found ({}); install it (Debian: "
                    "libpq5), or keep the history in a file",
                    kLibrary, ::dlerror()));
  }
  Libpq functions{};
  find(library, "PQconnectStartParams", functions.start_connecting);
  find(library, "PQconnectPoll", functions.go_on_connecting);
  find(library, "PQsocket", functions.socket);
  find(library, "PQsetnonblocking", functions.set_nonblocking);
  find(library, "PQflush", functions.flush);
  find(library, "PQconsumeInput", functions.consume_input);
  find(library, "PQisBusy", functions.is_busy);
  find(library, "PQgetResult", functions.next_result);
  find(library, "PQfinish", functions.finish);
  find(library, "PQstatus", functions.status);
  find(library, "PQerrorMessage", functions.error_message);
  find(library, "PQsetNoticeProcessor", functions.set_notice_processor);
  find(library, "PQsendPrepare", functions.send_prepare);
  find(library, "PQsendQueryPrepared", functions.send_prepared);
  find(library, "PQresultStatus", functions.result_status);
  find(library, "PQresultErrorMessage", functions.result_error);
  find(library, "PQresultErrorField", functions.result_error_field);
  find(library, "PQclear", functions.clear);
  find(library, "PQntuples", functions.row_count);
  find(library, "PQnfields", functions.column_count);
  find(library, "PQftype", functions.column_type);
  find(library, "PQgetisnull", functions.is_null);
  find(library, "PQgetvalue", functions.value);
  find(library, "PQgetlength", functions.length);
  return functions;
}

}  // namespace

const Libpq& libpq() {
  static const Libpq functions = load();
  return functions;
}

}  // namespace headroom
