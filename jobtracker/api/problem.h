#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "carillon/result.h"
#include "shared/net/http/http_server.h"

// Errors as application/problem+json (RFC 9457), with the fields `code`, `field` and `limit`.
//
// Thread: any.
namespace carillon::jobtracker::api {

struct Problem {
  int status = 500;
  std::string code{};                   // as in docs/reference/http-api.md: "not_found"
  std::string detail{};                 // names the object and the remedy
  std::string field{};                  // the field or parameter that is wrong; empty: unknown
  std::optional<std::int64_t> limit{};  // that it exceeds
};

// The field and the limit are taken from the message, where it begins with the field.
Problem problem_of(const Error& error);
net::HttpResponse response_of(const Problem& problem);

// The same for an error.
inline net::HttpResponse response_of(const Error& error) { return response_of(problem_of(error)); }

}  // namespace carillon::jobtracker::api
