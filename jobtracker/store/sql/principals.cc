// The table lts_principal.
#include <deque>
#include <sstream>

#include "jobtracker/store/sql/batch_writer.h"
#include "jobtracker/store/sql/sql_reads.h"
#include "jobtracker/store/sql/sql_rows.h"
#include "shared/base/joined.h"

namespace carillon::jobtracker {
namespace {

using sql::Value;

constexpr std::string_view kPrincipalColumns =
    "kind, name, role, node_groups, secret, created_us, created_by, expires_us, language";
constexpr int kPrincipalWidth = 9;
constexpr std::string_view kDeletePrincipal =
    "DELETE FROM lts_principal WHERE kind = ? AND name = ?";

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream stream{std::string{text}};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// A role of a newer version has no rights here.
PrincipalRow principal_of(const sql::Row& row) {
  const auto text = [&](int column) { return std::string{row.bytes(column)}; };
  const Result<Role> role = parse_role(row.bytes(2));
  return {.principal = {.kind = text(0),
                        .name = text(1),
                        .role = role.ok() ? role.value() : Role::kViewer,
                        .groups = role.ok() ? words_of(row.bytes(3)) : std::vector<std::string>{}},
          .secret = text(4),
          .created_at = wall_time(row.integer(5)),
          .created_by = text(6),
          .expires_at = wall_time(row.integer(7)),
          .language = text(8)};
}

Result<std::optional<PrincipalRow>> find_principal(sql::Connection& db, const std::string& kind,
                                                   const std::string& name) {
  std::optional<PrincipalRow> found;
  CARILLON_TRY(db.query(
      joined({"SELECT ", kPrincipalColumns, " FROM lts_principal WHERE kind = ? AND name = ?"}),
      SqlValues{Value::of_text(kind), Value::of_text(name)},
      [&](const sql::Row& row) { found = principal_of(row); }));
  return found;
}

Status store_principal(sql::Connection& db, const PrincipalRow& row) {
  const Principal& principal = row.principal;
  const std::string groups = carillon::joined(principal.groups, " ");
  return db.insert_rows(joined({"REPLACE INTO lts_principal (", kPrincipalColumns, ") VALUES"}),
                        kPrincipalWidth,
                        SqlValues{Value::of_text(principal.kind), Value::of_text(principal.name),
                                  Value::of_text(to_string(principal.role)), Value::of_text(groups),
                                  Value::of_text(row.secret), value_of(row.created_at),
                                  Value::of_text(row.created_by), value_of(row.expires_at),
                                  Value::of_text(row.language)});
}

}  // namespace

Status write_principals(WriteContext& context, const OperationIndices& indices) {
  for (const std::size_t index : indices) {
    const auto& put = context.operation<PutPrincipal>(index);
    const Principal& principal = put.row.principal;
    const auto before = CARILLON_TRY(find_principal(context.db, principal.kind, principal.name));
    const auto after = principal_after(put, before);
    if (!after) {
      context.conflict(index);
      continue;
    }
    CARILLON_TRY(store_principal(context.db, *after));
  }
  return {};
}

Status write_principal_removals(WriteContext& context, const OperationIndices& indices) {
  for (const std::size_t index : indices) {
    const auto& remove = context.operation<RemovePrincipal>(index);
    const auto rows = CARILLON_TRY(context.db.execute(
        kDeletePrincipal, SqlValues{Value::of_text(remove.kind), Value::of_text(remove.name)}));
    if (rows == 0) context.conflict(index);
  }
  return {};
}

Result<ReadAnswer> SqlReads::read(const ListPrincipals&) {
  PrincipalsAnswer answer;
  CARILLON_TRY(db_.query(
      joined({"SELECT ", kPrincipalColumns, " FROM lts_principal ORDER BY kind, name"}),
      SqlValues{}, [&](const sql::Row& row) { answer.rows.push_back(principal_of(row)); }));
  return ReadAnswer{std::move(answer)};
}

}  // namespace carillon::jobtracker
