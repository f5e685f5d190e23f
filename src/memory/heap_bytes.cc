#include "memory/heap_bytes.h"

namespace plimsoll {
namespace {

constexpr auto kJson = static_cast<int64_t>(sizeof(Json));
constexpr auto kMember = static_cast<int64_t>(sizeof(Json::object_t::value_type));

int64_t text_bytes(const std::string& text) {
  return heap_piece(sizeof(std::string)) + heap_bytes(text);
}

// Returns the bytes that one parsing step adds, including spare capacity of the array or object.
int64_t bytes_of_step(Json::parse_event_t event, const Json& parsed) {
  switch (event) {
    case Json::parse_event_t::object_start:
    case Json::parse_event_t::array_start:
      return heap_piece(sizeof(Json::object_t)) + kMember + 2 * kJson;
    case Json::parse_event_t::key:
      return 2 * kMember + heap_bytes(parsed.get_ref<const std::string&>());
    case Json::parse_event_t::value:
      return 2 * kJson + (parsed.is_string() ? text_bytes(parsed.get_ref<const std::string&>()) : 0);
    default:
      return 0;
  }
}

}  // namespace

int64_t heap_bytes(const std::filesystem::path& path) {
  int64_t bytes = heap_bytes(path.native());
  int64_t parts = 0;
  for (const std::filesystem::path& part : path) {  // A path stores its parts in addition to its text.
    bytes += heap_bytes(part.native());
    ++parts;
  }
  // The list of parts has up to half as much spare capacity.
  constexpr size_t kPart = sizeof(std::filesystem::path) + sizeof(size_t);
  return bytes + (parts > 1 ? heap_piece(static_cast<size_t>(parts) * kPart * 3 / 2 + 8) : 0);
}

int64_t heap_bytes(const Json& json) {
  if (json.is_string()) return text_bytes(json.get_ref<const std::string&>());
  if (json.is_array()) {
    const auto& values = json.get_ref<const Json::array_t&>();
    int64_t bytes = heap_piece(sizeof(Json::array_t)) + heap_piece(values.capacity() * sizeof(Json));
    for (const Json& value : values) bytes += heap_bytes(value);
    return bytes;
  }
  if (!json.is_object()) return 0;
  const auto& members = json.get_ref<const Json::object_t&>();
  int64_t bytes = heap_piece(sizeof(Json::object_t)) +
                  heap_piece(members.capacity() * sizeof(Json::object_t::value_type));
  for (const auto& [key, value] : members) bytes += heap_bytes(key) + heap_bytes(value);
  return bytes;
}

Json parse_json(std::string_view text, Charge& charge) {
  const int64_t before = charge.bytes();
  JsonLimits limits;
  const auto keep = [&](int depth, Json::parse_event_t event, Json& parsed) {
    charge.add(bytes_of_step(event, parsed));
    return limits.keeps(depth, event);
  };
  Json json = Json::parse(text, keep, false);
  if (limits.passed()) json = Json(Json::value_t::discarded);
  charge.shrink(before + heap_bytes(json));
  return json;
}

}  // namespace plimsoll
