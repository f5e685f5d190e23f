#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/words.h"
#include "can/capture/channel_choice.h"
#include "can/capture/formats.h"
#include "can/capture/negative_times.h"

namespace plimsoll {

/// The contents of a table's column.
enum class TableColumn : uint8_t { skip, time, id, channel, extended, length, payload, byte, bytes, label };
template <>
inline constexpr auto kWords<TableColumn> = std::to_array<std::string_view>({"-", "time", "id", "channel",
                                                                             "extended", "length", "payload",
                                                                             "byte", "bytes", "label"});

namespace {

using Column = TableColumn;

UsageError bad_columns(const std::string& word) {
  return UsageError(fmt::format(
      "--columns: '{}' is not known; expected time, id, channel, extended, length, payload, byte, "
      "bytes, label or -, each perhaps with *COUNT, and ... for the rest",
      word));
}

Column column_named(std::string_view name) {
  const std::optional<Column> column = find_word<Column>(name);
  if (!column) throw bad_columns(std::string(name));
  return *column;
}

char column_separator(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 2> kNames = {{{"tab", '\t'}, {"space", ' '}}};
  for (const auto& [name, separator] : kNames)
    if (text == name) return separator;
  if (text.size() == 1) return text[0];
  throw UsageError(fmt::format("--separator '{}' is not one character, tab or space", text));
}

class Table : public CaptureFormat {
 public:
  Table(const FormatOptions& options, std::string_view first_lines)
      : options_(options), channels_(options), separator_(column_separator(options.separator)) {
    for (const std::string& word : options.columns) {
      if (open_ended_) throw UsageError("--columns: '...' must be the last");
      if (word == "...") {
        open_ended_ = true;
        continue;
      }
      const size_t star = word.find('*');
      int64_t count = 1;
      if (star != std::string::npos) {
        const auto [end, failed] = std::from_chars(word.data() + star + 1, word.data() + word.size(), count);
        if (failed != std::errc() || end != word.data() + word.size() || count < 1 || count > 64)
          throw bad_columns(word);
      }
      columns_.insert(columns_.end(), static_cast<size_t>(count), column_named(word.substr(0, star)));
    }
    if (!has(Column::id))
      throw UsageError("--format table needs --columns with at least id, such as time,id,payload,label");
    if (options.quote.size() > 1) throw UsageError("--quote must be one character");
    if (!options.channel.empty() && !has(Column::channel))
      throw UsageError("--channel: the table has no channels; name the column that holds them in --columns");
    if (has_time())
      shift_ns_ = negative_reach(first_lines, [&](std::string_view line) { return time_of_line(line); });
  }

  std::string name() const override { return "table"; }
  bool has_time() const override { return has(Column::time) && options_.time != TimeUnit::none; }
  bool has_payload() const override {
    return has(Column::payload) || has(Column::byte) || has(Column::bytes);
  }
  bool labelled() const override { return has(Column::label); }
  bool has_differences() const override { return options_.time == TimeUnit::delta; }

  bool parse(std::string_view line, bool first, FrameBatch& out, LineNotes& notes) const override {
    if (first && is_header(line)) return false;
    std::string_view rest = separator_ == ' ' ? trim(line) : line;
    Row row;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (rest.data() == nullptr) {
        // Trailing bytes of a short frame may be left out.
        if (columns_[c] == Column::byte || columns_[c] == Column::bytes) break;
        throw LineError{line.data() + line.size(), fmt::format("{} columns", columns_.size())};
      }
      if (columns_[c] == Column::bytes) {
        while (rest.data() != nullptr) add_byte(next(rest), out.width, row);
        break;
      }
      take(columns_[c], next(rest), out.width, row, notes);
    }
    if (!open_ended_ && rest.data() != nullptr && !trim(rest).empty())
      throw LineError{rest.data(),
                      fmt::format("{} columns; add ... to --columns to leave out the rest", columns_.size())};
    return append(row, out, notes);
  }

 private:
  struct Row {
    int64_t time_ns = 0;
    const char* time_at = nullptr;
    uint32_t id = 0;
    std::optional<bool> extended;  // Value of the column `extended`, if any.
    std::string_view channel;
    int64_t length = -1;  // Value of the column `length`; -1 if there is none.
    const char* length_at = nullptr;
    std::string_view payload;
    std::array<uint8_t, 64> bytes{};
    int64_t count = 0;  // Number of bytes.
    std::array<char, 128> digits{};
    uint8_t label = kUnlabelled;
  };

  bool has(Column column) const {
    return std::find(columns_.begin(), columns_.end(), column) != columns_.end();
  }

  std::string_view next(std::string_view& rest) const {
    if (separator_ == ' ') {
      const std::string_view word = take_word(rest);
      if (rest.empty()) rest = {};
      return word;
    }
    size_t from = 0;
    if (!options_.quote.empty() && rest.starts_with(options_.quote[0])) {
      from = rest.find(options_.quote[0], 1);
      if (from == std::string_view::npos) throw LineError{rest.data(), "a closing quote"};
    }
    const size_t end = rest.find(separator_, from);
    std::string_view field = trim(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (from > 0 && field.size() >= 2) field = field.substr(1, field.size() - 2);
    return field;
  }

  static void add_byte(std::string_view field, int64_t width, bool decimal, Row& row) {
    if (field.empty()) return;
    if (row.count >= width) throw too_long(field.data(), width);
    row.bytes[static_cast<size_t>(row.count++)] = parse_byte(field, decimal);
  }
  void add_byte(std::string_view field, int64_t width, Row& row) const {
    add_byte(field, width, options_.decimal_bytes, row);
  }

  int64_t parse_time(std::string_view field, LineNotes& notes) const {
    if (options_.time == TimeUnit::none) return 0;
    if (options_.time == TimeUnit::time_of_day) return parse_time_of_day(field);
    return parse_signed(field, [&](std::string_view digits) {
      if (options_.time == TimeUnit::milliseconds) return parse_scaled_time(digits, 1'000'000, notes);
      if (options_.time == TimeUnit::microseconds) return parse_scaled_time(digits, 1'000, notes);
      return parse_seconds(digits, notes);
    });
  }

  int64_t time_of_line(std::string_view line) const {
    LineNotes notes;
    if (separator_ == ' ') line = trim(line);
    for (const Column column : columns_) {
      if (line.data() == nullptr || column == Column::bytes) break;
      const std::string_view field = next(line);
      if (column == Column::time) return parse_time(field, notes);
    }
    return 0;
  }

  // Whether the line is a header: neither its time nor its ID can be parsed.
  bool is_header(std::string_view line) const {
    if (separator_ == ' ') line = trim(line);
    LineNotes notes;
    bool has_name = false;
    for (const Column column : columns_) {
      if (line.data() == nullptr || column == Column::bytes) break;
      const std::string_view field = next(line);
      if (column != Column::time && column != Column::id) continue;
      if (column == Column::time && options_.time == TimeUnit::none) continue;
      if (field.empty() || is_digit(field.front())) return false;
      try {
        Row row;
        take(column, field, 0, row, notes);
        return false;
      } catch (const LineError&) {
        has_name = true;
      }
    }
    return has_name;
  }

  void take(Column column, std::string_view field, int64_t width, Row& row, LineNotes& notes) const {
    if (column == Column::time) {
      row.time_at = field.data();
      row.time_ns = parse_time(field, notes);
    }
    if (column == Column::id) {
      // Tools that treat the column as numbers write 290 as 290.0.
      const bool as_float = field.size() > 2 && field.ends_with(".0");
      notes.float_id += as_float;
      if (as_float) field.remove_suffix(2);
      row.id = options_.decimal_id ? parse_decimal_id(field) : parse_hex_id(field);
    }
    if (column == Column::channel && field.empty()) throw LineError{field.data(), "the name of a channel"};
    if (column == Column::channel) row.channel = field;
    if (column == Column::extended) row.extended = parse_extended(field);
    if (column == Column::length) {
      row.length = parse_length(field, options_.length_in_bits);
      row.length_at = field.data();
    }
    if (column == Column::payload) row.payload = field;
    if (column == Column::byte) add_byte(field, width, row);
    if (column == Column::label) row.label = parse_label(field, options_.attack_labels);
  }

  // Appends a row. Returns false for a frame of another channel.
  bool append(Row& row, FrameBatch& out, LineNotes& notes) const {
    const int64_t time_ns = settle_time(row, notes);
    if (!channels_.should_read(row.channel, notes)) return false;
    if (row.payload.starts_with("0x") || row.payload.starts_with("0X")) row.payload.remove_prefix(2);
    if (row.payload.data() != nullptr) {
      // There may be blanks between the bytes.
      size_t digits = 0;
      for (const char& c : row.payload) {
        if (is_blank(c)) continue;
        if (static_cast<int64_t>(digits) == 2 * out.width) throw too_long(row.payload.data(), out.width);
        if (hex_digit(c) == kNoDigit) throw LineError{&c, "hex digits in the payload"};
        row.digits[digits++] = c;
      }
      append_payload({row.digits.data(), digits}, out, notes);
    } else {
      // Without a length column every filled byte column counts.
      const int64_t count = row.length >= 0 ? std::min(row.length, row.count) : row.count;
      notes.extra_bytes +=
          std::any_of(&row.bytes[static_cast<size_t>(count)], &row.bytes[static_cast<size_t>(row.count)],
                      [](uint8_t byte) { return byte != 0; });
      notes.empty_payload += has_payload() && count == 0;
      append_bytes(row.bytes.data(), count, out);
    }
    if (row.length >= 0 && has_payload() && row.length != out.length.back())
      throw LineError{row.length_at,
                      fmt::format("a length that agrees with the {} bytes of payload", out.length.back())};
    out.time_ns.push_back(time_ns);
    out.can_id.push_back(id_of(row));
    out.label.push_back(row.label);
    if (has(Column::channel)) set_channel(row.channel, out);
    return true;
  }

  int64_t settle_time(const Row& row, LineNotes& notes) const {
    notes.shifted_time += shift_ns_ > 0;
    if (!has_differences()) return add_times(shift_ns_, row.time_ns, row.time_at);
    ++notes.added_time;
    return notes.elapsed_ns = add_times(notes.elapsed_ns, row.time_ns, row.time_at);
  }

  static uint32_t id_of(const Row& row) {
    if (!row.extended) return row.id;
    const uint32_t id = row.id & ~kCanExtended;
    return *row.extended || id > 0x7FF ? id | kCanExtended : id;
  }

  // Parses true and false, or the words that tools use for the kind of an ID.
  static bool parse_extended(std::string_view field) {
    for (const char* word : {"x", "ext", "extended", "extend", "29"})
      if (equal_ignoring_case(field, word)) return true;
    for (const char* word : {"s", "std", "standard", "11", ""})
      if (equal_ignoring_case(field, word)) return false;
    return parse_truth(field);
  }

  FormatOptions options_;
  ChannelChoice channels_;
  std::vector<Column> columns_;
  char separator_;
  bool open_ended_ = false;
  int64_t shift_ns_ = 0;  // Offset that makes negative times positive.
};

}  // namespace

std::unique_ptr<CaptureFormat> make_table(const FormatOptions& options, std::string_view first_lines) {
  return std::make_unique<Table>(options, first_lines);
}

}  // namespace plimsoll
