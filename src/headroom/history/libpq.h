// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <libpq-fe.h>

namespace headroom {

/// The functions of PostgreSQL's client library that a history uses. It brings some thirty other libraries
/// along, so it is loaded when the first database is opened and not when the program starts.
struct Libpq {
  decltype(&PQconnectStartParams) start_connecting;
  decltype(&PQconnectPoll) go_on_connecting;
  decltype(&PQsocket) socket;
  decltype(&PQsetnonblocking) set_nonblocking;
  decltype(&PQflush) flush;
  decltype(&PQconsumeInput) consume_input;
  decltype(&PQisBusy) is_busy;
  decltype(&PQgetResult) next_result;
  decltype(&PQfinish) finish;
  decltype(&PQstatus) status;
  decltype(&PQerrorMessage) error_message;
  decltype(&PQsetNoticeProcessor) set_notice_processor;
  decltype(&PQsendPrepare) send_prepare;
  decltype(&PQsendQueryPrepared) send_prepared;
  decltype(&PQresultStatus) result_status;
  decltype(&PQresultErrorMessage) result_error;
  decltype(&PQresultErrorField) result_error_field;
  decltype(&PQclear) clear;
  decltype(&PQntuples) row_count;
  decltype(&PQnfields) column_count;
  decltype(&PQftype) column_type;
  decltype(&PQgetisnull) is_null;
  decltype(&PQgetvalue) value;
  decltype(&PQgetlength) length;
};

/// Throws Error where the library is not installed.
const Libpq& libpq();

}  // namespace headroom
