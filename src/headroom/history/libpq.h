// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <libpq-fe.h>

namespace headroom {

/// The functions of PostgreSQL's client library that a history uses. It brings some thirty other libraries
/// along, so it is loaded when the first database is opened and not when the program starts.
struct Libpq {
  decltype(&PQconnectdbParams) connect;
  decltype(&PQfinish) finish;
  decltype(&PQstatus) status;
  decltype(&PQerrorMessage) error_message;
  decltype(&PQsetNoticeProcessor) set_notice_processor;
  decltype(&PQprepare) prepare;
  decltype(&PQexecPrepared) execute_prepared;
  decltype(&PQexec) execute;
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
