#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/shown.h"
#include "can/capture/channel_choice.h"
#include "can/capture/formats.h"

// Parses PEAK CAN trace files. Sources for the columns of each version: PEAK-System, "PEAK CAN TRC File
// Format", and python-can's can/io/trc.py.

namespace plimsoll {
namespace {

constexpr int64_t kMillisecond = 1'000'000;
// Maximum columns in a header, because each is searched in each line.
constexpr size_t kMaxTraceColumns = 64;
constexpr std::string_view kNoBus = "1";  // Bus of a file that names no bus.

class Trc : public CaptureFormat {
 public:
  Trc(const FormatOptions& options, std::string_view first_lines) : channels_(options) {
    std::string_view text = first_lines;
    for (int64_t number = 1; !text.empty(); ++number) {
      const std::string_view line = trim(take_line(text));
      if (!line.starts_with(';')) {
        if (line.empty()) continue;
        break;
      }
      const size_t equals = line.find('=');
      if (equals == std::string_view::npos) continue;
      const std::string_view value = trim(line.substr(equals + 1));
      if (line.starts_with(";$FILEVERSION")) set_version(value);
      if (line.starts_with(";$STARTTIME")) {
        start_ns_ = start_of(value);
        if (start_ns_ == 0) unknown_date_ = fmt::format("{}: the start '{}'", number, shown(value));
      }
      if (line.starts_with(";$COLUMNS")) {
        columns_.clear();
        for (const char c : value)
          if (c != ',' && !is_blank(c) && columns_.size() < kMaxTraceColumns) columns_ += c;
      }
    }
  }

  std::string name() const override { return "trc"; }
  bool labelled() const override { return false; }
  std::vector<std::string> warnings() const override {
    if (unknown_date_.empty()) return {};
    return {unknown_date_ +
            " is not a number of days since 1899-12-30, and times count from 1970; write it as in "
            "`;$STARTTIME=44000.5`"};
  }

  bool parse(std::string_view line, bool, FrameBatch& out, LineNotes& notes) const override {
    line = trim(line);
    Fields fields;
    bool is_frame = !line.starts_with(';');
    if (is_frame) {
      fields = fields_of(line);
      // Errors, status and warnings have another type, or the ID FFFFFFFF of version 1.0.
      const std::string_view type = fields.type;
      is_frame =
          columns_.find('T') != std::string::npos
              ? type == "DT" || type == "FD" || type == "FB" || type == "FE" || type == "BI" || type == "RR"
              : fields.id != "FFFFFFFF" && (type.empty() || type == "Rx" || type == "Tx");
    }
    if (!is_frame) {
      notes.unknown_date += !unknown_date_.empty() && line.starts_with(";$STARTTIME");
      ++notes.other_lines;
      return false;
    }
    const int64_t since_start = parse_signed(
        fields.time, [](std::string_view text) { return parse_decimal_time(text, kMillisecond); });
    const int64_t time_ns = add_times(start_ns_, since_start, fields.time.data());
    const std::string_view bus = fields.bus.empty() ? kNoBus : fields.bus;
    if (!channels_.should_read(bus, notes)) return false;
    uint32_t id = parse_hex_id(fields.id);
    if (fields.id.size() > 4) id |= kCanExtended;
    int64_t length = length_of(fields);
    std::array<uint8_t, 64> bytes{};
    std::string_view data = fields.data;
    const bool is_remote = fields.type == "RR" || data.starts_with("RTR");
    if (is_remote) {
      id |= kCanRemote;
      length = 0;
    }
    if (length > out.width) throw too_long(fields.length.data(), out.width);
    for (int64_t i = 0; i < length; ++i) bytes[static_cast<size_t>(i)] = parse_byte(take_word(data), false);
    notes.extra_bytes += !is_remote && !data.empty();
    append_unlabelled(time_ns, id, bytes.data(), length, out);
    out.set_flags(flags_of(fields));
    set_channel(bus, out);
    return true;
  }

 private:
  struct Fields {
    std::string_view time, type, bus, direction, id, length, data;
  };

  void set_version(std::string_view version) {
    if (version == "1.1") columns_ = "NOTIL";
    if (version == "1.2") columns_ = "NOBTIL";
    if (version == "1.3") columns_ = "NOBTIRL";
    if (const size_t type = columns_.find('T'); type != std::string::npos)
      columns_[type] = 't';  // The type is Rx, Tx, or not a frame.
  }

  // Splits a line by `columns_`: N number, O time, B bus, T type, t direction or event, I ID, L DLC, l
  // length, d direction, R reserved. D and all unnamed columns at the end are the payload.
  Fields fields_of(std::string_view line) const {
    Fields fields;
    std::string_view rest = line;
    for (const char column : columns_) {
      if (column == 'D') break;
      const std::string_view word = take_word(rest);
      switch (column) {
        case 'O':
          fields.time = word;
          break;
        case 'B':
          fields.bus = word;
          break;
        case 'T':
        case 't':
          fields.type = word;
          break;
        case 'I':
          fields.id = word;
          break;
        case 'd':
          fields.direction = word;
          break;
        case 'L':
        case 'l':
          fields.length = word;
          break;
        default:
          break;
      }
    }
    fields.data = rest;
    if (fields.length.data() == nullptr) fields.length = rest;
    return fields;
  }

  // Flags by type: FD is CAN FD, FB has the bit rate switched, FE has an error-passive sender, and BI has
  // both.
  static uint8_t flags_of(const Fields& fields) {
    const std::string_view type = fields.type;
    const bool brs = type == "FB" || type == "BI";
    const bool esi = type == "FE" || type == "BI";
    return static_cast<uint8_t>((type == "Tx" || fields.direction == "Tx" ? kFrameSent : 0) |
                                (type == "FD" || brs || esi ? kFrameFd : 0) | (brs ? kFrameBrs : 0) |
                                (esi ? kFrameEsi : 0));
  }

  int64_t length_of(const Fields& fields) const {
    const int64_t length = parse_length(fields.length, false);
    if (columns_.find('l') != std::string::npos || length <= 8) return length;
    const bool is_fd = fields.type.starts_with('F') || fields.type == "BI";
    if (length > 15) throw LineError{fields.length.data(), "a DLC of at most 15"};
    return is_fd ? kLengthOfDlc[static_cast<size_t>(length)] : 8;
  }

  // Parses days since 1899-12-30 in UTC, a number with a decimal point, or a decimal comma in some languages.
  // Returns 0 if the text is not such a number.
  static int64_t start_of(std::string_view text) {
    std::string days(text);
    std::ranges::replace(days, ',', '.');
    const size_t point = std::min(days.find('.'), days.size());
    int64_t whole = 0;
    double part = 0;
    const auto [end, failed] = std::from_chars(days.data(), days.data() + point, whole);
    if (failed != std::errc() || end != days.data() + point || whole < 25569 || whole > 129'736) return 0;
    if (point < days.size()) std::from_chars(days.data() + point, days.data() + days.size(), part);
    constexpr int64_t kDay = 86'400'000'000'000;
    return (whole - 25569) * kDay + std::llround(part * static_cast<double>(kDay) / 1000) * 1000;
  }

  ChannelChoice channels_;
  std::string columns_ = "NOIL";  // Columns of version 1.0.
  int64_t start_ns_ = 0;
  std::string unknown_date_;
};

}  // namespace

std::unique_ptr<CaptureFormat> make_trc(const FormatOptions& options, std::string_view first_lines) {
  return std::make_unique<Trc>(options, first_lines);
}

}  // namespace plimsoll
