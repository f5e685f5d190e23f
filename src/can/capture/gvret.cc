#include <array>

#include "can/capture/channel_choice.h"
#include "can/capture/csv_fields.h"
#include "can/capture/formats.h"
#include "can/capture/negative_times.h"

// Parses the CSV of GVRET and SavvyCAN.

namespace plimsoll {
namespace {

constexpr std::string_view kGvretTime = "Time Stamp";
constexpr const char* kGvretRow = "Time Stamp,ID,Extended,[Dir,]Bus,LEN,bytes";

// The separator of the fields. A spreadsheet may have saved the file with another separator.
char separator_of(std::string_view first_line) {
  const size_t found = first_line.find_first_of(",;\t");
  return found == std::string_view::npos ? ',' : first_line[found];
}

class Gvret : public CaptureFormat {
 public:
  Gvret(const FormatOptions& options, std::string_view first_lines) : channels_(options) {
    std::string_view lines = first_lines;
    std::string_view first = take_line(lines);
    separator_ = separator_of(first);
    has_header_ = first.starts_with(kGvretTime);
    try {
      for (int i = 0; i < 3; ++i) take_field(first, kGvretRow, separator_);
      const std::string_view fourth = take_field(first, kGvretRow, separator_);
      has_direction_ = fourth == "Dir" || fourth == "Rx" || fourth == "Tx";
    } catch (const LineError&) {
      // The error is reported when the line is parsed.
    }
    shift_ns_ = negative_reach(
        first_lines, [&](std::string_view line) { return time_of(take_field(line, kGvretRow, separator_)); });
  }

  std::string name() const override { return "gvret"; }
  bool labelled() const override { return false; }

  bool parse(std::string_view line, bool first, FrameBatch& out, LineNotes& notes) const override {
    if (first && has_header_) return false;
    return parse_row(line, [&] {
      std::string_view rest = line;
      const Head head = take_head(rest);
      const int64_t time_ns = add_times(shift_ns_, time_of(head.time), head.time.data());
      if (!channels_.should_read(head.bus, notes)) return false;
      uint32_t id = parse_hex_id(head.id) & ~kCanExtended;
      if (parse_truth(head.extended) || id > 0x7FF) id |= kCanExtended;
      const int64_t length = parse_length(head.length, false);
      if (length > out.width) throw too_long(head.length.data(), out.width);
      std::array<uint8_t, 64> bytes{};
      for (int64_t i = 0; i < length; ++i)
        bytes[static_cast<size_t>(i)] =
            parse_byte(take_field(rest, "a byte for each of LEN", separator_), false);
      notes.extra_bytes += has_bytes(rest);
      append_unlabelled(time_ns, id, bytes.data(), length, out);
      out.set_flags(head.direction == "Tx" ? kFrameSent : 0);
      set_channel(head.bus, out);
      notes.shifted_time += shift_ns_ > 0;
      return true;
    });
  }

 private:
  struct Head {
    std::string_view time, id, extended, direction, bus, length;
  };
  Head take_head(std::string_view& rest) const {
    Head head;
    head.time = take_field(rest, kGvretRow, separator_);
    head.id = take_field(rest, kGvretRow, separator_);
    head.extended = take_field(rest, kGvretRow, separator_);
    if (has_direction_) head.direction = take_field(rest, kGvretRow, separator_);
    head.bus = take_field(rest, kGvretRow, separator_);
    head.length = take_field(rest, kGvretRow, separator_);
    return head;
  }

  static int64_t time_of(std::string_view text) {
    return parse_signed(text, [](std::string_view digits) { return parse_decimal_time(digits, 1000); });
  }

  // Whether the byte columns after the payload of a shorter frame hold anything but zeros.
  bool has_bytes(std::string_view rest) const {
    while (rest.data() != nullptr)
      if (take_field(rest, kGvretRow, separator_).find_first_not_of('0') != std::string_view::npos)
        return true;
    return false;
  }

  ChannelChoice channels_;
  char separator_ = ',';
  bool has_header_ = false;
  bool has_direction_ = false;
  int64_t shift_ns_ = 0;  // Offset that makes negative times positive.
};

}  // namespace

bool is_gvret(std::string_view first_lines) {
  if (!first_lines.starts_with(kGvretTime)) return false;
  std::string_view header = take_line(first_lines);
  const char separator = separator_of(header);
  header.remove_prefix(kGvretTime.size());
  return header.starts_with(std::string{separator} + "ID" + separator + "Extended" + separator);
}

std::unique_ptr<CaptureFormat> make_gvret(const FormatOptions& options, std::string_view first_lines) {
  return std::make_unique<Gvret>(options, first_lines);
}

}  // namespace plimsoll
