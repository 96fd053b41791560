#include "tests/integration/shared_mariadb.h"

#include "tests/support/may_skip.h"

namespace carillon::testing {

Result<MariadbServer*> shared_mariadb() {
  static Result<std::unique_ptr<MariadbServer>> server = MariadbServer::start();
  if (server.ok()) return server.value().get();
  auto error = server.error();
  if (!may_skip()) error.code = ErrorCode::kUnavailable;
  return error;
}

}  // namespace carillon::testing
