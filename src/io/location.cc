#include "io/location.h"

#include <fmt/format.h>

#include <system_error>

#include "base/error.h"
#include "io/file.h"
#include "io/object_store.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kS3 = "s3://";

// Returns whether a text is a URL, in which a scheme is before "://".
bool has_scheme(const std::string& text) {
  const size_t colon = text.find("://");
  return colon != std::string::npos && colon > 0 &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-") == colon;
}

}  // namespace

std::string Location::text() const {
  return is_object() ? std::string(kS3) + path.string() : path.string();
}

Location parse_location(const std::string& text) {
  if (!has_scheme(text)) return {.store = {}, .path = text};
  if (!text.starts_with(kS3))
    throw UsageError(fmt::format("{}: expected a path or an URL s3://BUCKET/KEY; other stores are not read",
                                 text.substr(0, text.find("://") + 3)));
  const size_t query = std::min(text.find('?'), text.size());
  std::string path = text.substr(kS3.size(), query - kS3.size());
  const size_t bucket_end = std::min(path.find('/'), path.size());
  const size_t access = path.rfind('@', bucket_end);  // "KEY:SECRET@" may be before the bucket.
  if (access == std::string::npos && path.find(':') < bucket_end && path.find('@') != std::string::npos)
    throw UsageError(
        "s3://KEY:SECRET@...: found a / in the credentials; write it as %2F, or set AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY instead");
  const std::string credentials = access == std::string::npos ? "" : path.substr(0, access + 1);
  path.erase(0, credentials.size());
  while (path.ends_with('/')) path.pop_back();
  const std::string bucket = path.substr(0, path.find('/'));
  if (bucket.empty() || bucket.find_first_of("*?[") != std::string::npos)
    throw UsageError(fmt::format("s3://{}: has no bucket, expected s3://BUCKET/KEY", path));
  return {.store = fmt::format("{}{}{}{}", kS3, credentials, bucket, text.substr(query)), .path = path};
}

std::string without_credentials(std::string text) {
  const size_t scheme = text.find(kS3);
  if (scheme == std::string::npos) return text;
  const size_t begin = scheme + kS3.size();
  const size_t at = text.find('@', begin);
  if (at == std::string::npos || text.find(':', begin) > at) return text;
  return text.replace(begin, at - begin, "...");
}

bool is_file(const Location& location) {
  if (location.is_object()) return find_object(location).has_value();
  std::error_code unreadable;  // A name that the system does not accept is not a file either.
  return fs::is_regular_file(location.path, unreadable);
}

std::string read_text(const Location& location) {
  return location.is_object() ? read_object(location) : read_text(location.path);
}

}  // namespace plimsoll
