#pragma once

#include <string>

#include "shared/base/environment.h"

namespace carillon::cli {

// Opens a page in the user's browser, if there is a display. The address may contain a secret, and
// other users can see the arguments of a program. So the browser gets the name of a file in
// `folder`, which leads it to the address, and which only this user can read. Without the folder or
// a browser nothing happens.
//
// Thread: any.
void open_web_page(const Environment& environment, const std::string& folder,
                   const std::string& url);

// Writes that file. Its path; empty: it cannot be written.
std::string write_web_page(const std::string& folder, const std::string& url);

}  // namespace carillon::cli
