#include "jobtracker/caller.h"

namespace carillon::jobtracker {
namespace {

constexpr std::string_view kAnyone = "anyone";

}  // namespace

Caller caller_of(const net::Sender& sender) {
  const auto colon = sender.principal.find(':');
  if (colon == std::string::npos)
    return {std::string{kAnyone}, std::string{kAnyone}, sender.address};
  return {sender.principal.substr(colon + 1), sender.principal.substr(0, colon), sender.address};
}

net::Sender sender_of(const Asker& asker) {
  const Caller& caller = asker.caller;
  return {.peer = asker.peer,
          .principal = caller.kind == kAnyone ? std::string{} : caller.kind + ":" + caller.name,
          .address = caller.address};
}

}  // namespace carillon::jobtracker
