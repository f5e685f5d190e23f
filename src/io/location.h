#pragma once

#include <filesystem>
#include <string>

namespace plimsoll {

/// A file or folder on disk or in an object store.
struct Location {
  std::string store = {};  ///< URI of the store as Arrow takes it, "s3://bucket?region=eu-west-1"; empty: on
                           ///< disk. It may contain credentials and is never shown.
  std::filesystem::path path = {};  ///< "bucket/key" in a store.

  bool is_object() const { return !store.empty(); }
  /// Returns the name for messages: the path, or "s3://bucket/key".
  std::string text() const;
  Location operator/(const std::string& name) const { return {store, path / name}; }
};

/// Parses a path, or a URL such as "s3://bucket/key?endpoint_override=127.0.0.1:9000&scheme=http". The key is
/// taken as it is, without percent escapes. Errors: UsageError (another scheme, no bucket).
Location parse_location(const std::string& text);

/// Returns a text that may hold a URL for messages, without the "KEY:SECRET" before its bucket.
std::string without_credentials(std::string text);

/// Returns whether there is such a file or object; a folder is neither. Errors: those of find_object().
bool is_file(const Location& location);

/// Returns the text of a file or object of at most 16 MiB. Errors: InputError, Failure.
std::string read_text(const Location& location);

}  // namespace plimsoll
