#pragma once

#include <span>
#include <string_view>

namespace carillon::jobtracker {

// A file of the console, as a job tracker serves it.
struct ConsoleFile {
  std::string_view path;          // of the request: "/" or "/assets/..."
  std::string_view content_type;  // as the header has it
  std::string_view etag;          // as the header has it, with its quotes
  std::string_view gzip_bytes;    // the body with Content-Encoding: gzip
};

// All files, ordered by path. Names below /assets/ hold the hash of their content, so a browser may
// keep them forever; "/" is to be asked for each time, with its etag.
std::span<const ConsoleFile> console_files();

}  // namespace carillon::jobtracker
