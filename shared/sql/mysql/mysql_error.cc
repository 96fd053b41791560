#include "shared/sql/mysql/mysql_error.h"

namespace carillon::sql {
namespace {

// Numbers below 2000 and above 3000 come from the server, 2000 to 2999 from the client library.
MysqlFailure connection_failure(int number) {
  const auto lost = [](const char* advice) {
    return MysqlFailure{.code = ErrorCode::kUnavailable, .connection_lost = true, .advice = advice};
  };
  switch (number) {
    case 2002:  // cannot connect
    case 2003:
      return lost("check that the server runs at this address");
    case 2005:
      return lost("the host does not exist, check the name");
    case 2026:
      return lost("check ssl-ca, and that the server's certificate names this host");
    case 1040:  // too many connections
    case 1203:
    case 1226:
      return lost("raise max_connections, or stop other clients");
    case 1047:  // Galera: this node is not part of the primary component
    case 1180:  // Galera: the provider went away inside COMMIT
      return lost("wait until the cluster has a primary component");
    case 1053:  // shutting down
    case 1077:
    case 1078:
    case 1079:
    case 1152:  // aborted, network errors as the server saw them
    case 1158:
    case 1159:
    case 1160:
    case 1161:
    case kReadOnly:  // the server is read-only: a replica, or a server being replaced
    case 1792:       // the same, for a transaction that started before
    case 1836:
    case 1317:  // the query was killed, or ...
    case 1927:  // ... the connection
    case 2006:  // gone away
    case 2012:
    case 2013:  // lost during the query
    case 2014:  // out of sync, e.g. after a time-out
    case 2027:
    case 2030:
    case 2055:
    case 4031:  // idle for too long (MySQL 8)
      return lost("");
    default:
      return {};
  }
}

}  // namespace

MysqlFailure mysql_failure(int number, std::string_view text) {
  if (const auto failure = connection_failure(number); failure.connection_lost) return failure;
  const auto of = [](ErrorCode code, const char* advice) {
    return MysqlFailure{.code = code, .connection_lost = false, .advice = advice};
  };
  switch (number) {
    case 1020:  // changed since it was read
    case 1205:  // lock time-out: the server rolled back the statement only
    case 1213:  // deadlock, or Galera certification
    case 1615:  // the table changed while the statement ran
    case 1969:  // max_statement_time
    case 3024:
    case 3100:  // Group Replication rolled back the transaction inside COMMIT
    case 3101:
    case 3572:  // NOWAIT (MySQL 8)
      return of(ErrorCode::kConflict, "");

    case 1044:  // database
    case 1045:  // password
    case 1698:
      return of(ErrorCode::kDenied, "check user, password and their rights");
    case 1130:  // host
    case 1142:  // table
    case 1143:  // column
    case 1227:  // needs another privilege
    case 1820:  // password expired
    case 1862:
      return of(ErrorCode::kDenied, "");

    case kUnknownDatabase:
      return of(ErrorCode::kInvalidArgument,
                "create it: CREATE DATABASE name CHARACTER SET utf8mb4");
    case 1153:
      return {.code = ErrorCode::kInvalidArgument,
              .connection_lost = true,
              .advice = "raise max_allowed_packet, or send less"};

    case 1021:  // disk full
    case 1114:  // table full
      return of(ErrorCode::kLimit, "free space on the server's disk");
    case 1026:  // error writing file
    case 1030:  // error from the storage engine
      return text.find("28") != std::string_view::npos
                 ? of(ErrorCode::kLimit, "free space on the server's disk")
                 : of(ErrorCode::kCorrupt, "see the server's error log");
    case 1037:  // out of memory
    case 1038:
    case 1041:
      return of(ErrorCode::kLimit, "the server has too little memory");
    case 1197:  // the transaction is larger than the binary log's cache
      return of(ErrorCode::kLimit, "raise max_binlog_cache_size");
    case 1206:  // too many row locks
      return of(ErrorCode::kLimit, "raise innodb_buffer_pool_size");
    case 1461:
      return of(ErrorCode::kLimit, "raise max_prepared_stmt_count");

    case 1034:  // incorrect key file
    case 1194:  // marked as crashed
    case 1195:
    case 1712:  // index corrupted
    case 1932:  // the table is missing in the engine
      return of(ErrorCode::kCorrupt, "repair the table or restore it from a backup");
    default:
      return {};
  }
}

}  // namespace carillon::sql
