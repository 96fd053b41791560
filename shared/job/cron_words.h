#pragma once

#include <string>
#include <string_view>

namespace carillon {

// A cron expression in words: "every day at 02:00", "every 10 minutes", "Monday to Friday at
// 08:30". Empty for expressions that are not simple enough. Requires: Cron::parse() accepts it.
//
// Thread: any.
std::string cron_words(std::string_view expression);

}  // namespace carillon
