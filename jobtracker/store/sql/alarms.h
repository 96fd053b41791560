#pragma once

#include <cstdint>

#include "jobtracker/store/batch.h"
#include "shared/sql/sql_connection.h"

// The tables lts_alarm_history and lts_silence.
namespace carillon::jobtracker {

// Deletes the oldest rows of the history that `purge` names, at most its limit, and silences that
// were over before `now`. Returns the number of rows of the history.
Result<std::int64_t> purge_alarms(sql::Connection& db, const Purge& purge, WallTime now);

}  // namespace carillon::jobtracker
