#pragma once

#include "carillon/result.h"
#include "carillon/time.h"
#include "jobtracker/store/group_parts.h"
#include "jobtracker/store/sql/group_catalog.h"
#include "jobtracker/store/store_session.h"
#include "shared/sql/sql_connection.h"

namespace carillon::jobtracker {

// Makes the parts of a node group and gives each its rows, in one transaction; the group itself
// comes back. All partitions of the parts are `owned` by the session.
//
// kDenied: the session was fenced; others as of plan_split().
Result<Group> split_group(sql::Connection& db, GroupCatalog& groups, const StoreSession& session,
                          const Partitions& owned, const GroupSplit& split, WallTime now);

}  // namespace carillon::jobtracker
