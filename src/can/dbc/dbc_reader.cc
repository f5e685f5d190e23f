#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "can/dbc/dbc.h"
#include "can/dbc/dbc_attributes.h"
#include "can/dbc/dbc_multiplexing.h"
#include "can/dbc/dbc_numbers.h"
#include "can/dbc/dbc_text.h"
#include "can/frames/frames.h"
#include "io/file.h"
#include "memory/heap_bytes.h"
#include "memory/vector.h"

namespace plimsoll {
namespace {

constexpr int kFrameBits = 8 * 64;
constexpr int kMaxBits = 8 * 1785;  // Bits of the longest message of the J1939 transport protocol.
// The pseudo message under which Vector's tools list signals without a message.
constexpr std::string_view kNoMessage = "VECTOR__INDEPENDENT_SIG_MSG";

// Reads the text of a file, charged to the ledger as it grows. Every kind of line end becomes LF.
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
  for (size_t i = 0; i + 1 < text.size(); ++i)
    if (text[i] == '\r' && text[i + 1] != '\n') text[i] = '\n';
  return text;
}

// A line that cannot be read, and what was expected there.
struct OddLine {
  std::string expected;
};

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : text_(text_of(path)) {}

  std::string_view head() const { return {text_.data(), std::min<size_t>(text_.size(), 4096)}; }

  Dbc read() {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    std::string_view text(text_.data(), text_.size());
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    DbcText statements(text);
    for (DbcStatement statement; statements.next(statement);) {
      try {
        take(statement, statements);
      } catch (const OddLine& odd) {
        if (statement.keyword == "BO_")
          lost_.expected = odd.expected;  // The remark is added later, because the message's signals follow.
        else
          remarks_.add(statement.line, statement.whole, odd.expected, "left out");
      }
    }
    close_message();
    for (auto& [can_id, draft] : drafts_) finish(can_id, draft);
    remarks_.sort();
    return {std::move(messages_), std::move(remarks_), std::move(charge_)};
  }

 private:
  // A message while it is read, and the numbers of its lines.
  struct Draft {
    int64_t line = 0;
    std::vector<DbcRole> roles = {};
    std::vector<DbcMultiplexing> multiplexing = {};
    // Value types, with their line numbers, by signal.
    std::map<std::string, std::pair<int, int64_t>> value_types = {};
  };

  // A message that cannot be read, and the number of its signals.
  struct LostMessage {
    int64_t line = 0;
    std::string_view whole = {};
    std::string expected = {};  // Empty if no message is lost.
    int64_t signals = 0;
  };

  void take(DbcStatement& statement, DbcText& statements) {
    const std::string_view keyword = statement.keyword;
    if (keyword.empty()) throw OddLine{"a statement of a DBC, such as BO_ or SG_"};
    if (keyword == "BO_" || keyword == "SG_") {
      try {
        keyword == "BO_" ? message(statement) : signal(statement);
      } catch (const OddLine&) {
        if (!statements.extend(statement)) throw;
        keyword == "BO_" ? message(statement) : signal(statement);
      }
    }
    if (keyword == "BU_") statements.extend(statement);  // Nodes may be listed one per line.
    if (keyword == "SIG_VALTYPE_") value_type(statement);
    if (keyword == "SG_MUL_VAL_") multiplexing(statement);
    if (keyword == "BA_DEF_") attributes_.define(DbcWords(statement.words));
    if (statement.open_text && (keyword == "CM_" || keyword == "BA_" || keyword == "BA_DEF_DEF_"))
      throw OddLine{"a closing quote"};
    if (keyword == "BA_DEF_DEF_") attributes_.set_default(DbcWords(statement.words));
    if (keyword == "BA_" && !attributes_.set(DbcWords(statement.words)))
      throw OddLine{"a value, such as BA_ \"GenMsgCycleTime\" BO_ 291 100"};
  }

  void close_message() {
    current_ = nullptr;
    if (!lost_.expected.empty())
      remarks_.add(
          lost_.line, lost_.whole, lost_.expected,
          lost_.signals == 0 ? "left out" : fmt::format("left out with its signals ({})", lost_.signals));
    lost_ = {};
    is_independent_ = false;
  }

  // Reads a line such as: BO_ 291 Engine: 8 ECU
  void message(const DbcStatement& statement) {
    close_message();
    DbcWords words(statement.words);
    const std::string_view id_text = words.word();
    const std::string_view name = words.up_to(':');
    is_independent_ = name == kNoMessage;
    if (is_independent_) return;
    lost_ = {.line = statement.line, .whole = statement.whole};
    const auto can_id = dbc_can_id(id_text);
    const auto length = dbc_integer(words.word());
    if (!can_id || name.empty() || !length || *length < 0)
      throw OddLine{"a message with an ID of at most 29 bits, such as BO_ 291 Engine: 8 ECU"};
    if (lacks_extended_bit(id_text))
      remarks_.add(statement.line, statement.whole, "bit 31 of an ID of more than 11 bits",
                   "read as an extended ID");
    const auto [draft, is_new] = drafts_.try_emplace(*can_id);
    if (!is_new)
      remarks_.add(statement.line, statement.whole, "one message per ID",
                   fmt::format("used instead of the one in line {}", draft->second.line));
    charge_.add(kMapEntryBytes<Dbc::Messages> + heap_bytes(std::string(name)));
    of_reading_.add(kMapEntryBytes<decltype(drafts_)>);
    draft->second = {.line = statement.line};
    current_ = &(messages_[*can_id] = {.name = std::string(name), .length = *length});
    draft_ = &draft->second;
  }

  // Reads a line such as: SG_ Speed m2 : 7|16@0+ (0.01,0) [0|655.35] "km/h" ECU
  void signal(const DbcStatement& statement) {
    if (current_ == nullptr) {
      if (is_independent_) return;
      if (lost_.expected.empty()) throw OddLine{"a message before a signal"};
      ++lost_.signals;
      return;
    }
    DbcWords words(statement.words);
    DbcWords head(words.up_to(':'));
    DbcSignal signal;
    signal.name = head.word();
    DbcRole role = role_of(head);
    role.line = statement.line;
    role.whole = statement.whole;
    const bool is_read = layout(words, signal);
    scale(words, signal);
    std::string missing = range(words, signal);
    const auto unit = words.text();
    signal.unit = unit.value_or("");
    if (!unit) missing = "a unit in quotes";
    if (!is_read) return;
    if (!missing.empty()) remarks_.add(statement.line, statement.whole, missing, "read without it");
    // A growing vector holds its old memory and the new memory, which is twice as large.
    charge_.add(3 * static_cast<int64_t>(sizeof(DbcSignal)) + heap_bytes(signal.name) +
                heap_bytes(signal.unit));
    of_reading_.add(3 * static_cast<int64_t>(sizeof(DbcRole)));
    current_->signals.push_back(std::move(signal));
    draft_->roles.push_back(role);
  }

  static DbcRole role_of(DbcWords& head) {
    DbcRole role;
    std::string_view word = head.word();
    if (word.ends_with('M')) {
      role.is_multiplexor = true;
      word.remove_suffix(1);
    }
    if (word.starts_with('m')) {
      role.is_multiplexed = true;
      word.remove_prefix(1);
      role.value = dbc_integer(word);
      if (role.value) word = {};
    }
    if (!word.empty() || !head.is_empty())
      throw OddLine{"M, m0 or m0M, or nothing, between the signal and ':'"};
    return role;
  }

  // Reads start, length and byte order. Returns false for a text, and for a part of a multi-frame message if
  // no single frame contains it.
  static bool layout(DbcWords& words, DbcSignal& signal) {
    const auto start = dbc_integer(words.up_to('|'));
    const auto length = dbc_integer(words.up_to('@'));
    const bool intel = words.skip('1');
    const bool motorola = !intel && words.skip('0');
    signal.intel = intel;
    signal.is_signed = words.skip('-');
    const bool sound = !signal.name.empty() && start && length && (intel || motorola) &&
                       (signal.is_signed || words.skip('+')) && *start >= 0 && *start < kMaxBits &&
                       *length >= 1 && *length <= kMaxBits;
    if (!sound) throw OddLine{"a signal, such as SG_ Speed : 7|16@0+ (0.01,0) [0|655.35] \"km/h\" ECU"};
    signal.start = static_cast<int>(*start);
    signal.length = static_cast<int>(*length);
    return signal.length <= 64 && signal.start < kFrameBits;
  }

  static void scale(DbcWords& words, DbcSignal& signal) {
    const bool opened = words.skip('(');
    const auto factor = dbc_number(words.up_to(','));
    const auto offset = dbc_number(words.up_to(')'));
    if (!opened || !factor || !offset || !std::isfinite(*factor) || !std::isfinite(*offset))
      throw OddLine{"a finite factor and offset, such as (0.01,0)"};
    signal.factor = *factor;
    signal.offset = *offset;
  }

  // Reads the range. Returns what is missing.
  static std::string range(DbcWords& words, DbcSignal& signal) {
    if (!words.skip('[')) return "a range, such as [0|655.35]";
    const auto min = dbc_number(words.up_to('|'));
    const auto max = dbc_number(words.up_to(']'));
    if (!min || !max || std::isnan(*min) || std::isnan(*max)) return "a range, such as [0|655.35]";
    signal.min = *min;
    signal.max = *max;
    return {};
  }

  // The draft of the message that a statement is about; null if there is none.
  Draft* draft_of(DbcWords& words) {
    const auto can_id = dbc_can_id(words.word());
    const auto draft = can_id ? drafts_.find(*can_id) : drafts_.end();
    return draft == drafts_.end() ? nullptr : &draft->second;
  }

  // Reads a line such as: SIG_VALTYPE_ 291 Speed : 1;
  void value_type(const DbcStatement& statement) {
    DbcWords words(statement.words);
    Draft* const draft = draft_of(words);
    if (draft == nullptr) return;
    std::string name(words.word(":"));
    words.skip(':');
    const auto type = dbc_integer(words.word(";"));
    if (!type || *type < 0 || *type > 3)
      throw OddLine{"a type of a value, such as SIG_VALTYPE_ 291 Speed : 1"};
    of_reading_.add(kMapEntryBytes<decltype(draft->value_types)> + heap_bytes(name));
    draft->value_types[std::move(name)] = {static_cast<int>(*type), statement.line};
  }

  // Reads a line such as: SG_MUL_VAL_ 291 Heat Mode 4-4, 6-7;
  void multiplexing(const DbcStatement& statement) {
    DbcWords words(statement.words);
    Draft* const draft = draft_of(words);
    if (draft == nullptr) return;
    DbcMultiplexing line{.line = statement.line,
                         .signal = std::string(words.word()),
                         .multiplexor = std::string(words.word())};
    bool sound = !line.multiplexor.empty();
    do {
      const auto first = dbc_integer(words.word("-,;"));
      const auto last = words.skip('-') ? dbc_integer(words.word(",;")) : first;
      sound = sound && first && last && *first <= *last;
      if (sound) line.multiplexor_values.push_back({*first, *last});
    } while (words.skip(','));
    sound = sound && (words.skip(';') || words.is_empty());
    if (!sound) line.multiplexor_values.clear();
    of_reading_.add(3 * static_cast<int64_t>(sizeof(line)) + heap_bytes(line.signal) +
                    heap_bytes(line.multiplexor) +
                    3 * static_cast<int64_t>(line.multiplexor_values.size() * sizeof(DbcRange)));
    draft->multiplexing.push_back(std::move(line));
    if (!sound) throw OddLine{"values of a multiplexor, such as SG_MUL_VAL_ 291 Heat Mode 4-4, 6-7"};
  }

  void finish(uint32_t can_id, Draft& draft) {
    DbcMessage& message = messages_[can_id];
    set_value_types(message, draft);
    set_multiplexors(message, draft.roles, draft.multiplexing, remarks_, charge_);
    message.cycle_ms = attributes_.cycle_ms(can_id);
    message.is_cyclic = attributes_.is_cyclic(can_id);
    message.is_group = attributes_.is_group(can_id) && (can_id & kCanExtended) != 0;
    const auto rename = [&](std::string& name, const std::string& longer) {
      const int64_t before = heap_bytes(name);
      name = longer.empty() ? dbc_text(name) : longer;
      charge_.add(std::max<int64_t>(0, heap_bytes(name) - before));
    };
    rename(message.name, attributes_.message_name(can_id));
    for (DbcSignal& signal : message.signals) {
      rename(signal.name, attributes_.signal_name(can_id, signal.name));
      rename(signal.unit, "");
    }
  }

  // Type 1 is a float and 2 a double. The length of the signal decides, as in cantools.
  void set_value_types(DbcMessage& message, const Draft& draft) {
    for (DbcSignal& signal : message.signals) {
      const auto found = draft.value_types.find(signal.name);
      if (found == draft.value_types.end()) continue;
      const auto [type, line] = found->second;
      signal.is_float = (type == 1 || type == 2) && (signal.length == 32 || signal.length == 64);
      if ((type == 1 || type == 2) && !signal.is_float)
        remarks_.add(line, signal.name, "32 or 64 bits of a floating-point signal",
                     fmt::format("read as a whole number of {} bits", signal.length));
    }
  }

  Vector<char, Tag::ingest> text_;
  Charge charge_{Tag::columns};     // Memory of the messages.
  Charge of_reading_{Tag::ingest};  // Memory of drafts.
  std::map<uint32_t, Draft> drafts_;
  DbcAttributes attributes_;
  DbcRemarks remarks_;
  Dbc::Messages messages_;
  DbcMessage* current_ = nullptr;
  Draft* draft_ = nullptr;
  bool is_independent_ = false;  // Whether the following signals belong to no message.
  LostMessage lost_;
};

// Checks the format by the first bytes and by the name. Errors: InputError for a file of another format.
void require_dbc(std::string_view head, const std::filesystem::path& path) {
  if (head.starts_with("\xFF\xFE") || head.starts_with("\xFE\xFF"))
    throw InputError(path.string() + ": is a text in UTF-16, expected a DBC in UTF-8 or Windows-1252");
  const auto has = [&](std::string_view text) { return head.find(text) != std::string_view::npos; };
  const bool is_xml = head.find_first_of('<') == head.find_first_not_of(" \t\r\n\xEF\xBB\xBF") && has("<");
  std::string ending = path.extension().string();
  std::ranges::transform(ending, ending.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const char* const other = ending == ".arxml" || (is_xml && has("AUTOSAR"))           ? "ARXML"
                            : ending == ".kcd" || (is_xml && has("NetworkDefinition")) ? "KCD"
                            : ending == ".sym" || has("FormatVersion=")                ? "SYM"
                                                                                       : nullptr;
  if (other != nullptr)
    throw InputError(fmt::format("{}: is {}, expected a DBC; convert it: plimsoll convert {} --out {}",
                                 path.string(), other, path.string(),
                                 std::filesystem::path(path).replace_extension(".dbc").string()));
}

}  // namespace

Dbc read_dbc(const std::filesystem::path& path) {
  Reader reader(path);
  require_dbc(reader.head(), path);
  Dbc dbc = reader.read();
  if (!dbc.messages().empty()) return dbc;
  const std::vector<DbcRemark>& odd = dbc.remarks().kept();
  throw InputError(fmt::format("{}: found no message, expected lines such as BO_ 291 Engine: 8 ECU{}",
                               path.string(), odd.empty() ? "" : "; line " + odd.front().text()));
}

}  // namespace plimsoll
