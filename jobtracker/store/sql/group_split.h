#pragma once

#include "carillon/result.h"
#include "carillon/time.h"
#include "jobtracker/store/group_split.h"
#include "jobtracker/store/sql/group_catalog.h"
#include "jobtracker/store/store_session.h"
#include "shared/sql/sql_connection.h"

namespace carillon::jobtracker {

// Creates the partitions of a node group and moves their rows, in one transaction. Returns the
// group itself. All partitions are `owned` by the session.
//
// Errors: kDenied if the session was fenced; others see plan_split().
Result<Group> split_group(sql::Connection& db, GroupCatalog& groups, const StoreSession& session,
                          const Partitions& owned, const GroupSplit& split, WallTime now);

}  // namespace carillon::jobtracker
