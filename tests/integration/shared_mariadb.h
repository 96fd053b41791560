#pragma once

#include "tests/support/mariadb_server.h"

namespace carillon::testing {

// The server that the tests of one program share, started by the first that asks and killed at the
// program's end. kNotFound, for a skip, where MariaDB is not installed and may be missing; a test
// that stops or kills it starts it again.
Result<MariadbServer*> shared_mariadb();

}  // namespace carillon::testing
