#include "io/object_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/shown.h"
#include "io/arrow_calls.h"

namespace plimsoll {
namespace {

// Calls the plugin about an object or folder, and throws its error.
template <typename Call>
void call_store(const Location& location, const Call& call) {
  try {
    call_arrow([&](const PlimsollArrowPool* pool, char* error, int64_t bytes) {
      return call(location.store.c_str(), location.path.c_str(), pool, error, bytes);
    });
  } catch (const InputError& error) {
    throw_if_store_failed(location.text(), error.what());
    throw InputError(fmt::format("{}: cannot be read ({})", location.text(), shown(error.what(), 400)));
  }
}

}  // namespace

std::optional<ObjectVersion> find_object(const Location& object) {
  throw_if_interrupted("looking at objects");  // There may be thousands of them.
  const auto find = arrow_plugin().function<PlimsollFindObject>(kFindObject);
  if (object.path.begin() == object.path.end() || ++object.path.begin() == object.path.end())
    return std::nullopt;  // A bucket.
  PlimsollObject found{};
  call_store(object, [&](const char* store, const char* path, auto* pool, char* error, int64_t bytes) {
    return find(store, path, pool, &found, error, bytes);
  });
  if (found.bytes < 0) return std::nullopt;
  std::string etag = found.version;
  std::erase(etag, '"');
  return ObjectVersion{.bytes = found.bytes, .etag = std::move(etag)};
}

std::vector<std::filesystem::path> list_objects(const Location& folder) {
  const auto list = arrow_plugin().function<PlimsollListObjects>(kListObjects);
  std::vector<std::filesystem::path> paths;
  const auto add = [](void* to, const char* path) {
    static_cast<std::vector<std::filesystem::path>*>(to)->emplace_back(path);
  };
  call_store(folder, [&](const char* store, const char* path, auto* pool, char* error, int64_t bytes) {
    return list(store, path, pool, add, &paths, error, bytes);
  });
  std::ranges::sort(paths);
  return paths;
}

std::string read_object(const Location& object) {
  constexpr int64_t kMax = int64_t{16} << 20;
  const std::optional<ObjectVersion> found = find_object(object);
  if (!found) throw InputError(object.text() + ": no such object");
  if (found->bytes > kMax)
    throw InputError(
        fmt::format("{}: has {} bytes, expected a text of at most {}", object.text(), found->bytes, kMax));
  const auto read = arrow_plugin().function<PlimsollReadObject>(kReadObject);
  std::string text(static_cast<size_t>(found->bytes), '\0');
  call_store(object, [&](const char* store, const char* path, auto* pool, char* error, int64_t bytes) {
    return read(store, path, pool, text.data(), found->bytes, error, bytes);
  });
  return text;
}

void throw_if_store_failed(const std::string& name, const std::string& text) {
  const std::string reason = shown(text, 400);
  const auto has = [&](std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(words, [&](auto word) { return text.find(word) != std::string::npos; });
  };
  if (has({"NO_SUCH_BUCKET"}))
    throw InputError(
        fmt::format("{}: there is no such bucket; check its name, region and endpoint_override", name));
  if (has({"ACCESS_DENIED", "INVALID_ACCESS_KEY_ID", "SIGNATURE_DOES_NOT_MATCH", "EXPIRED_TOKEN",
           "HTTP status 401", "HTTP status 403"}))
    throw InputError(
        fmt::format("{}: no permission ({}); set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
                    "AWS_PROFILE, to an account that may read it",
                    name, reason));
  if (has({"NETWORK_CONNECTION", "REQUEST_TIMEOUT", "SLOW_DOWN", "SERVICE_UNAVAILABLE", "INTERNAL_FAILURE",
           "HTTP status 5"}))
    throw Failure(fmt::format(
        "{}: cannot be read ({}); check the network, region and endpoint_override, and repeat the command",
        name, reason));
}

}  // namespace plimsoll
