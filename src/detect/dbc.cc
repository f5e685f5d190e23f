#include "detect/dbc.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/shown.h"
#include "detect/j1939.h"
#include "ingest/text/characters.h"
#include "io/file.h"
#include "memory/heap_bytes.h"
#include "memory/vector.h"
#include "store/frames.h"

namespace plimsoll {
namespace {

constexpr int kFrameBits = 8 * 64;
constexpr int kMostBits = 8 * 1785;  // of the longest message of the transport protocol of J1939
// Vector's place for signals that are of no message.
constexpr std::string_view kNoMessage = "VECTOR__INDEPENDENT_SIG_MSG";

template <class T>
bool read_number(std::string_view text, T& value) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [stop, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failed == std::errc() && stop == text.data() + text.size();
}

// The text of a file, in the ledger as it grows.
Vector<char, Tag::ingest> text_of(const std::filesystem::path& path) {
  constexpr size_t kPiece = 64 << 10;
  File file = File::open(path);
  Vector<char, Tag::ingest> text;
  for (size_t got = kPiece; got > 0;) {
    const size_t held = text.size();
    if (text.capacity() < held + kPiece) text.reserve(std::max(2 * text.capacity(), held + kPiece));
    text.resize(held + kPiece);
    got = file.read(text.data() + held, kPiece);
    text.resize(held + got);
  }
  return text;
}

// Of an entry of a map, beside what it holds on the heap.
template <class Map>
constexpr int64_t kEntryBytes = static_cast<int64_t>(4 * sizeof(void*) + sizeof(typename Map::value_type)) +
                                16;

// What is in front of `end`, which is cut off with it; all of it where there is no `end`.
std::string_view take_to(std::string_view& rest, char end) {
  const size_t at = std::min(rest.find(end), rest.size());
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return trim(part);
}

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : path_(path), text_(text_of(path)) {}

  Dbc read() {
    for (std::string_view rest(text_.data(), text_.size()); !rest.empty();) statement(rest);
    for (auto& [id, message] : dbc_) {
      for (DbcSignal& signal : message.signals) {
        const auto type = value_types_.find({id, signal.name});
        signal.is_float = type != value_types_.end() && type->second == signal.length;
      }
      if (const auto own = cycle_ms_.find(id); own != cycle_ms_.end())
        message.cycle_ms = own->second;
      else
        message.cycle_ms = usual_cycle_ms_;
      const std::string& type = send_type_.of(id);
      // "cyclic", "Cyclic", "cyclicX"; not "CyclicAndSpontaneous", "CyclicIfActive" or "OnChange".
      message.is_cyclic = type.empty() || type == "cyclic" || type == "cyclicx";
      message.is_group = frame_format_.of(id) == "j1939pg" && (id & kCanExtended) != 0;
    }
    return {std::move(dbc_), std::move(charge_)};
  }

 private:
  std::string_view line(std::string_view& rest) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number_;
    return trim(line);
  }

  void statement(std::string_view& rest) {
    std::string_view words = line(rest);
    if (words.starts_with("BO_ ")) return message(words);
    if (words.starts_with("SG_ ")) return signal(words);
    if (words.starts_with("SIG_VALTYPE_ ")) return value_type(words);
    if (words.starts_with("BA_DEF_ ")) return definition(words);
    if (words.starts_with("BA_DEF_DEF_ ")) return usual(words);
    if (words.starts_with("BA_ ")) return attribute(words);
    // A comment goes on to its closing quote, whatever its lines look like.
    if (words.starts_with("CM_ "))
      for (int64_t quotes = quotes_in(words); quotes % 2 != 0 && !rest.empty();)
        quotes += quotes_in(line(rest));
  }

  static int64_t quotes_in(std::string_view text) {
    int64_t quotes = 0;
    for (size_t i = 0; i < text.size(); ++i) quotes += text[i] == '"' && (i == 0 || text[i - 1] != '\\');
    return quotes;
  }

  [[noreturn]] void refuse(std::string_view found, std::string_view expected) const {
    throw InputError(
        fmt::format("{}:{}: found '{}', expected {}", path_.string(), number_, shown(found), expected));
  }

  void message(std::string_view words) {
    const std::string_view whole = words;
    take_word(words);
    current_ = nullptr;
    const std::string_view id_text = take_word(words);
    std::string_view name = take_to(words, ':');
    if (name == kNoMessage) return;
    uint32_t id = 0;
    int64_t length = 0;
    words = trim(words);
    const bool sound = read_number(id_text, id) && !name.empty() && (id & (kCanRemote | kCanError)) == 0 &&
                       ((id & kCanExtended) != 0 || id <= 0x7FF) && read_number(take_word(words), length) &&
                       length >= 0;
    if (!sound) refuse(whole, "a message, such as BO_ 291 Engine: 8 ECU");
    charge_.add(kEntryBytes<Dbc::Messages> + heap_bytes(std::string(name)));
    current_ = &(dbc_[id] = {.name = std::string(name), .length = length});
  }

  void signal(std::string_view words) {
    if (current_ == nullptr) return;  // of no message
    const std::string_view whole = words;
    take_word(words);
    DbcSignal signal;
    std::string_view head = take_to(words, ':');
    signal.name = take_word(head);
    std::string_view role = take_word(head);
    bool sound = !signal.name.empty();
    if (role.ends_with('M')) {
      signal.is_multiplexor = role == "M";
      signal.extended_multiplexing = role != "M";
      role.remove_suffix(1);
    }
    if (role.starts_with('m')) {
      int64_t value = 0;
      sound = sound && read_number(role.substr(1), value);
      signal.multiplexed = value;
    }
    sound = sound && read_number(take_to(words, '|'), signal.start) &&
            read_number(take_to(words, '@'), signal.length) && signal.start >= 0 &&
            signal.start < kMostBits && signal.length >= 1 && signal.length <= kMostBits;
    // A text, or a part of a message of several frames: no frame has it.
    if (sound && (signal.length > 64 || signal.start >= kFrameBits)) return;
    const std::string_view layout = take_to(words, '(');
    sound = sound && layout.size() == 2 && (layout[0] == '0' || layout[0] == '1') &&
            (layout[1] == '+' || layout[1] == '-');
    sound = sound && read_number(take_to(words, ','), signal.factor) &&
            read_number(take_to(words, ')'), signal.offset) && std::isfinite(signal.factor) &&
            std::isfinite(signal.offset);
    take_to(words, '[');
    sound = sound && read_number(take_to(words, '|'), signal.least) &&
            read_number(take_to(words, ']'), signal.most);
    if (!sound) refuse(whole, "a signal, such as SG_ Speed : 7|16@0+ (0.01,0) [0|655.35] \"km/h\" ECU");
    signal.intel = layout[0] == '1';
    signal.is_signed = layout[1] == '-';
    take_to(words, '"');
    signal.unit = take_to(words, '"');
    // In a list that grows: there are two of it then, the new one twice as long.
    charge_.add(3 * static_cast<int64_t>(sizeof(DbcSignal)) + heap_bytes(signal.name) +
                heap_bytes(signal.unit));
    current_->signals.push_back(std::move(signal));
  }

  // SIG_VALTYPE_ 291 Speed : 1;
  void value_type(std::string_view words) {
    take_word(words);
    uint32_t id = 0;
    if (!read_number(take_word(words), id) || !dbc_.contains(id)) return;
    const std::string_view name = take_to(words, ':');
    const std::string_view type = take_to(words, ';');
    std::string key(name);
    of_reading_.add(kEntryBytes<decltype(value_types_)> + heap_bytes(key));
    value_types_[{id, std::move(key)}] = type == "1" ? 32 : type == "2" ? 64 : 0;
  }

  // BA_DEF_ BO_ "GenMsgSendType" ENUM "Cyclic","OnChange";
  void definition(std::string_view words) {
    take_to(words, '"');
    Enumeration* const attribute = enumeration(take_to(words, '"'));
    if (attribute == nullptr || !words.starts_with(" ENUM")) return;
    attribute->words.clear();
    take_to(words, '"');
    while (!words.empty()) {
      std::string word = lower(take_to(words, '"'));
      of_reading_.add(3 * static_cast<int64_t>(sizeof(std::string)) + heap_bytes(word));
      attribute->words.push_back(std::move(word));
      take_to(words, '"');
    }
  }

  // BA_DEF_DEF_ "GenMsgCycleTime" 100;
  void usual(std::string_view words) {
    take_to(words, '"');
    const std::string_view name = take_to(words, '"');
    const std::string_view value = take_to(words, ';');
    if (name == "GenMsgCycleTime") read_number(value, usual_cycle_ms_);
    if (Enumeration* const attribute = enumeration(name)) attribute->usual = attribute->word(value);
  }

  // BA_ "GenMsgCycleTime" BO_ 291 100;
  void attribute(std::string_view words) {
    take_to(words, '"');
    const std::string_view name = take_to(words, '"');
    words = trim(words);
    uint32_t id = 0;
    if (take_word(words) != "BO_" || !read_number(take_word(words), id)) return;
    const std::string_view value = take_to(words, ';');
    if (name == "GenMsgCycleTime") {
      of_reading_.add(kEntryBytes<decltype(cycle_ms_)>);
      read_number(value, cycle_ms_[id]);
    }
    if (Enumeration* const of_messages = enumeration(name)) {
      std::string word = of_messages->word(value);
      of_reading_.add(kEntryBytes<decltype(of_messages->own)> + heap_bytes(word));
      of_messages->own[id] = std::move(word);
    }
  }

  // An attribute of messages that is one of some words, in lower case.
  struct Enumeration {
    std::vector<std::string> words = {};
    std::string usual = {};
    std::map<uint32_t, std::string> own = {};

    const std::string& of(uint32_t id) const {
      const auto found = own.find(id);
      return found == own.end() ? usual : found->second;
    }
    // A value is the number of a word, or the word in quotes.
    std::string word(std::string_view value) const {
      if (value.size() >= 2 && value.front() == '"') return lower(value.substr(1, value.size() - 2));
      size_t number = 0;
      return read_number(value, number) && number < words.size() ? words[number] : "";
    }
  };
  Enumeration* enumeration(std::string_view name) {
    if (name == "GenMsgSendType") return &send_type_;
    if (name == "VFrameFormat") return &frame_format_;
    return nullptr;
  }

  static std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return out;
  }

  std::filesystem::path path_;
  Vector<char, Tag::ingest> text_;
  Charge charge_{Tag::columns};                                  // of the messages
  Charge of_reading_{Tag::ingest};                               // of what follows
  std::map<std::pair<uint32_t, std::string>, int> value_types_;  // bits of a float, by message and signal
  int64_t number_ = 0;
  Dbc::Messages dbc_;
  DbcMessage* current_ = nullptr;
  std::map<uint32_t, double> cycle_ms_;
  double usual_cycle_ms_ = 0;
  Enumeration send_type_;
  // Vector's numbers, for a DBC that defines it as a number.
  Enumeration frame_format_{.words = {"standardcan", "extendedcan", "", "j1939pg"}};
};

}  // namespace

std::optional<int64_t> DbcSignal::raw(const uint8_t* payload, int64_t bytes) const {
  uint64_t value = 0;
  if (intel) {
    if (start + length > bytes * 8) return std::nullopt;
    for (int i = length - 1; i >= 0; --i) {
      const int bit = start + i;
      value = value << 1 | (payload[bit / 8] >> bit % 8 & 1U);
    }
  } else {
    // Bit 7 of a byte is sent first: a signal runs down to bit 0 and on at bit 7 of the next byte.
    int bit = start;
    for (int i = 0; i < length; ++i) {
      if (bit / 8 >= bytes) return std::nullopt;
      value = value << 1 | (payload[bit / 8] >> bit % 8 & 1U);
      bit = bit % 8 == 0 ? bit + 15 : bit - 1;
    }
  }
  if (is_signed && length < 64 && (value >> (length - 1) & 1U) != 0) value |= ~uint64_t{0} << length;
  return std::bit_cast<int64_t>(value);
}

double DbcSignal::physical(int64_t raw) const {
  double value =
      is_signed || raw >= 0 ? static_cast<double>(raw) : static_cast<double>(static_cast<uint64_t>(raw));
  if (is_float)
    value = length == 32 ? static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(raw)))
                         : std::bit_cast<double>(raw);
  return factor * value + offset;
}

// The highest raw values: of whole bytes from 0xFB in the highest one on, of other signals the last two.
bool DbcSignal::is_no_value(int64_t raw) const {
  if (is_float || length < 2) return false;
  const int bits = is_signed ? length - 1 : length;
  const uint64_t highest = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  if (is_signed) return raw >= 0 && static_cast<uint64_t>(raw) + 1 >= highest;
  const auto value = static_cast<uint64_t>(raw);
  return bits % 8 == 0 ? value >> (bits - 8) >= 0xFB : value + 1 >= highest;
}

std::optional<int64_t> DbcMessage::multiplexor(const uint8_t* payload, int64_t bytes) const {
  const auto found = std::ranges::find_if(signals, &DbcSignal::is_multiplexor);
  return found == signals.end() ? std::nullopt : found->raw(payload, bytes);
}

Dbc read_dbc(const std::filesystem::path& path) {
  Dbc dbc = Reader(path).read();
  if (dbc.messages().empty())
    throw InputError(path.string() + ": found no message, expected lines such as BO_ 291 Engine: 8 ECU");
  return dbc;
}

Dbc::Dbc(Messages messages, Charge charge) : charge_(std::move(charge)), messages_(std::move(messages)) {
  for (const auto& [id, message] : messages_)
    if (message.is_group) groups_[j1939_id(id)->pgn].push_back(id);
}

const Dbc::Messages::value_type* Dbc::find(uint32_t can_id) const {
  constexpr uint8_t kNullAddress = 254;
  const auto exact = messages_.find(can_id & ~kCanRemote);
  if (exact != messages_.end()) return &*exact;
  const auto parts = j1939_id(can_id);
  const auto group = parts ? groups_.find(parts->pgn) : groups_.end();
  if (group == groups_.end()) return nullptr;
  const std::vector<uint32_t>& ids = group->second;
  const auto of_source = [&](uint8_t source) {
    return std::ranges::find_if(ids, [&](uint32_t id) { return (id & 0xFF) == source; });
  };
  auto best = of_source(parts->source);
  if (best == ids.end()) best = of_source(kNullAddress);
  return &*messages_.find(best == ids.end() ? ids.front() : *best);
}

std::string Dbc::name_of(uint32_t can_id) const {
  const auto* const found = find(can_id);
  return found == nullptr ? "" : found->second.name;
}

}  // namespace plimsoll
