#include "can/capture/channel_choice.h"
#include "can/capture/csv_fields.h"
#include "can/capture/formats.h"

// Parses the CSV of Cabana, old and new: 240.479,53,0,0acc0ade0074bf9e and 240.479,0x35,0,0x0acc0ade0074bf9e.

namespace plimsoll {
namespace {

constexpr const char* kCabanaRow = "time,addr,bus,data";
constexpr uint32_t kFirstSentBus = 128;  // Bus 128 + n holds frames that the panda sent on bus n.

std::string_view without_0x(std::string_view text) {
  return text.starts_with("0x") || text.starts_with("0X") ? text.substr(2) : text;
}

class Cabana : public CaptureFormat {
 public:
  explicit Cabana(const FormatOptions& options) : channels_(options) {}

  std::string name() const override { return "cabana"; }
  bool labelled() const override { return false; }

  bool parse(std::string_view line, bool first, FrameBatch& out, LineNotes& notes) const override {
    if (first && line.starts_with("time")) return false;
    return parse_row(line, [&] {
      std::string_view rest = line;
      const std::string_view time = take_field(rest, kCabanaRow);
      const std::string_view address = take_field(rest, kCabanaRow);
      const std::string_view bus = take_field(rest, kCabanaRow);
      const std::string_view data = take_field(rest, kCabanaRow);
      if (rest.data() != nullptr) throw LineError{rest.data(), kCabanaRow};
      const int64_t time_ns = parse_seconds(time, notes);
      const uint32_t number = parse_number(bus);
      if (!channels_.should_read(bus, notes)) return false;
      const std::string_view digits = without_0x(address);
      uint32_t id = parse_id(digits, digits.size() != address.size());
      append_payload(without_0x(data), out, notes);
      out.time_ns.push_back(time_ns);
      out.can_id.push_back(id);
      out.label.push_back(kUnlabelled);
      out.set_flags(number >= kFirstSentBus ? kFrameSent : 0);
      set_channel(bus, out);
      return true;
    });
  }

 private:
  static uint32_t parse_number(std::string_view text) {
    if (text.empty() || text.size() > 3 || !std::ranges::all_of(text, is_digit))
      throw LineError{text.data(), "the number of a bus"};
    uint32_t number = 0;
    for (const char c : text) number = number * 10 + static_cast<uint32_t>(c - '0');
    return number;
  }

  // An address is not marked as extended; one that does not fit in 11 bits is extended.
  static uint32_t parse_id(std::string_view digits, bool is_hex) {
    if (!is_hex) return parse_decimal_id(digits);
    const uint32_t id = parse_hex_id(digits) & ~kCanExtended;
    return id > 0x7FF ? id | kCanExtended : id;
  }

  ChannelChoice channels_;
};

}  // namespace

std::unique_ptr<CaptureFormat> make_cabana(const FormatOptions& options, std::string_view /*first_lines*/) {
  return std::make_unique<Cabana>(options);
}

}  // namespace plimsoll
