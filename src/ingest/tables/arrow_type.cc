#include "ingest/tables/arrow_type.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "base/error.h"
#include "base/shown.h"

namespace plimsoll {
namespace {

// Maximum digits after the point of a decimal; Arrow's own decimals have up to 76.
constexpr int64_t kMaxScale = 1000;

int64_t number_at(std::string_view text, const std::string& where) {
  int64_t number = -1;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || number < 0)
    throw InputError(
        fmt::format("{}: its Arrow format has '{}' where a number is expected", where, shown(text)));
  static_cast<void>(end);
  return number;
}

// Parses the formats of times. Dates and timestamps are times; times of day and durations are numbers.
void set_time(ArrowType& type, std::string_view format) {
  const std::string_view rest = format.substr(1);
  if (rest == "dD" || rest == "dm") {
    type.kind = ValueKind::time;
    type.storage = rest == "dD" ? 'i' : 'l';
    type.unit = rest == "dD" ? "D" : "ms";
  } else if (rest.size() >= 3 && rest[0] == 's' && rest[2] == ':') {
    type.kind = ValueKind::time;
    type.storage = 'l';
    type.unit = rest[1] == 's' ? "s" : std::string(1, rest[1]) + "s";
  } else if (rest == "ts" || rest == "tm") {
    type.kind = ValueKind::integer;
    type.storage = 'i';
  } else if (rest == "tu" || rest == "tn" || (rest.size() == 2 && rest[0] == 'D')) {
    type.kind = ValueKind::integer;
    type.storage = 'l';
  }
}

// Parses "d:PRECISION,SCALE" or "d:PRECISION,SCALE,BITS".
void set_decimal(ArrowType& type, std::string_view format, const std::string& where) {
  const size_t comma = format.find(',');
  if (comma == std::string_view::npos) return;
  const size_t next = format.find(',', comma + 1);
  const std::string_view scale =
      format.substr(comma + 1, next == std::string_view::npos ? next : next - comma - 1);
  const int64_t bits = next == std::string_view::npos ? 128 : number_at(format.substr(next + 1), where);
  if (bits != 32 && bits != 64 && bits != 128 && bits != 256) return;
  const bool is_negative = scale.starts_with('-');
  const int64_t digits = number_at(scale.substr(is_negative ? 1 : 0), where);
  if (digits > kMaxScale) return;
  type.kind = ValueKind::real;
  type.width = bits / 8;
  type.scale = static_cast<int>(is_negative ? -digits : digits);
}

void set_plain(ArrowType& type, std::string_view format, const std::string& where) {
  type.storage = format[0];
  switch (format[0]) {
    case 'n':
      type.kind = ValueKind::nothing;
      break;
    case 'b':
      type.kind = ValueKind::boolean;
      break;
    case 'c':
    case 'C':
    case 's':
    case 'S':
    case 'i':
    case 'I':
    case 'l':
    case 'L':
      type.kind = ValueKind::integer;
      break;
    case 'e':
    case 'f':
    case 'g':
      type.kind = ValueKind::real;
      break;
    case 'u':
    case 'U':
    case 'z':
    case 'Z':
    case 'v':
      type.kind = ValueKind::text;
      type.is_view = format[0] == 'v';
      type.is_utf8 = format.back() == 'u' || format.back() == 'U';
      break;
    case 'w':
      type.kind = ValueKind::text;
      type.width = number_at(format.substr(std::min<size_t>(2, format.size())), where);
      if (type.width > kMaxWidth) type.kind = ValueKind::other;
      break;
    case 'd':
      set_decimal(type, format, where);
      break;
    case 't':
      set_time(type, format);
      break;
    default:
      break;
  }
}

// Parses the formats of lists. A list of a fixed number of reals is a vector; other lists have any number of
// texts, integers or reals.
void set_list(ArrowType& type, const ArrowSchema& schema, std::string_view format, const std::string& where) {
  if (schema.n_children != 1 || schema.children == nullptr || schema.children[0] == nullptr) return;
  const ArrowType item = parse_arrow_type(*schema.children[0], where);
  const bool is_whole = item.kind == ValueKind::integer || item.kind == ValueKind::boolean;
  // Decimals would need their scale for each item.
  const bool is_plain_real =
      item.kind == ValueKind::real && item.layout == ArrowType::Layout::plain && item.storage != 'd';
  if (format.starts_with("+w:")) {
    const int64_t width = number_at(format.substr(3), where);
    const bool is_number = item.kind == ValueKind::real || item.kind == ValueKind::integer;
    if (item.layout != ArrowType::Layout::plain || !is_number || item.storage == 'd' || width < 1 ||
        width > kMaxWidth)
      return;
    type.kind = ValueKind::vector;
    type.width = width;
    type.element = item.storage;
  } else if ((format == "+l" || format == "+L") &&
             (is_whole || is_plain_real || (item.kind == ValueKind::text && item.is_utf8))) {
    type.kind = ValueKind::list;
    type.index_bytes = format == "+l" ? 4 : 8;
    type.item = {item};
  }
}

void set_index(ArrowType& type, char storage, const std::string& where) {
  const size_t at = std::string_view("cCsSiIlL").find(storage);
  if (at == std::string_view::npos)
    throw InputError(
        fmt::format("{}: its dictionary is indexed by the format '{}', expected integers", where, storage));
  type.index_bytes = 1 << (at / 2);
  type.index_signed = at % 2 == 0;
}

}  // namespace

ArrowType parse_arrow_type(const ArrowSchema& schema, const std::string& where) {
  if (schema.format == nullptr || schema.format[0] == '\0')
    throw InputError(where + ": its Arrow schema has no format; the source of the stream is broken");
  const std::string format = schema.format;
  ArrowType type;
  if (schema.dictionary != nullptr) {
    if (schema.dictionary->dictionary != nullptr || schema.dictionary->format == nullptr) return type;
    set_plain(type, schema.dictionary->format, where);
    type.layout = ArrowType::Layout::dictionary;
    set_index(type, format[0], where);
  } else if (format == "+r" && schema.n_children == 2 && schema.children != nullptr &&
             schema.children[0] != nullptr && schema.children[1] != nullptr) {
    const ArrowType values = parse_arrow_type(*schema.children[1], where);
    if (values.layout != ArrowType::Layout::plain) return type;
    type = values;
    type.layout = ArrowType::Layout::runs;
    set_index(type, schema.children[0]->format == nullptr ? '\0' : schema.children[0]->format[0], where);
  } else {
    set_plain(type, format, where);
    if (format[0] == '+') set_list(type, schema, format, where);
  }
  const bool is_nested = type.kind == ValueKind::vector || type.kind == ValueKind::list;
  if (is_nested && type.layout != ArrowType::Layout::plain) type.kind = ValueKind::other;
  type.format = format;
  return type;
}

}  // namespace plimsoll
