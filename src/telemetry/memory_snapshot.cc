#include "telemetry/memory_snapshot.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr int64_t kFirstAddress = int64_t{1} << 32;

Json frames_of(const Tape::Piece& piece) {
  return Json::array({{{"name", piece.operation}, {"filename", piece.module}, {"line", 0}}});
}

// Appends a little-endian number.
void put_number(std::string& out, uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(number >> (8 * i) & 0xff);
}

void put_integer(std::string& out, int64_t number) {
  if (number >= INT32_MIN && number <= INT32_MAX) {
    out += 'J';  // BININT
    put_number(out, static_cast<uint64_t>(number), 4);
  } else {
    out += '\x8a';  // LONG1, two's complement
    out += '\x08';
    put_number(out, static_cast<uint64_t>(number), 8);
  }
}

void put_text(std::string& out, const std::string& text) {
  out += 'X';  // BINUNICODE
  put_number(out, text.size(), 4);
  out += text;
}

void put_real(std::string& out, double number) {
  const auto bits = std::bit_cast<uint64_t>(number);
  out += 'G';  // BINFLOAT, big-endian
  for (int i = 7; i >= 0; --i) out += static_cast<char>(bits >> (8 * i) & 0xff);
}

void put_value(std::string& out, const Json& value) {
  switch (value.type()) {
    case Json::value_t::object:
      out += "}(";  // EMPTY_DICT, MARK
      for (const auto& [key, member] : value.items()) {
        put_text(out, key);
        put_value(out, member);
      }
      out += 'u';  // SETITEMS
      break;
    case Json::value_t::array:
      out += "](";  // EMPTY_LIST, MARK
      for (const Json& element : value) put_value(out, element);
      out += 'e';  // APPENDS
      break;
    case Json::value_t::string:
      put_text(out, value.get<std::string>());
      break;
    case Json::value_t::boolean:
      out += value.get<bool>() ? '\x88' : '\x89';
      break;
    case Json::value_t::number_float:
      put_real(out, value.get<double>());
      break;
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      put_integer(out, whole_number(value));
      break;
    default:
      out += 'N';
  }
}

}  // namespace

Json memory_snapshot(const Tape& tape, const std::vector<int64_t>& bytes,
                     const std::vector<int64_t>& places) {
  std::vector<Json> events(static_cast<size_t>(tape.events));
  std::vector<Json> left;  // Freed at the end.
  int64_t end = 0;
  for (size_t i = 0; i < tape.pieces.size(); ++i) {
    const Tape::Piece& piece = tape.pieces[i];
    if (bytes[i] == 0) continue;
    const int64_t address = kFirstAddress + places[i];
    end = std::max(end, places[i] + bytes[i]);
    const auto event = [&](const char* action, int32_t time) {
      return Json{
          {"action", action},          {"addr", address},
          {"size", bytes[i]},          {"stream", 0},
          {"time_us", time},           {"category", piece.module.empty() ? "no module" : piece.module},
          {"frames", frames_of(piece)}};
    };
    events[static_cast<size_t>(piece.taken)] = event("alloc", piece.taken);
    if (piece.given != Tape::kNever)
      events[static_cast<size_t>(piece.given)] = event("free_completed", piece.given);
    else
      left.push_back({{"address", address},
                      {"size", bytes[i]},
                      {"requested_size", bytes[i]},
                      {"state", "active_allocated"},
                      {"frames", frames_of(piece)}});
  }
  Json trace = Json::array();
  for (Json& event : events)
    if (!event.is_null()) trace.push_back(std::move(event));
  std::sort(left.begin(), left.end(), [](const Json& a, const Json& b) {
    return a.at("address").get<int64_t>() < b.at("address").get<int64_t>();
  });
  return {{"segments", Json::array({{{"device", 0},
                                     {"address", kFirstAddress},
                                     {"total_size", end},
                                     {"stream", 0},
                                     {"segment_type", "large"},
                                     {"allocated_size", end},
                                     {"active_size", end},
                                     {"frames", Json::array()},
                                     {"blocks", std::move(left)}}})},
          {"device_traces", Json::array({std::move(trace)})},
          {"allocator_settings",
           {{"plimsoll", "one block of a training run; a time is the number of an event"}}}};
}

std::string pickled(const Json& value) {
  std::string out = "\x80\x02";  // PROTO 2
  put_value(out, value);
  return out + '.';  // STOP
}

}  // namespace plimsoll
