#include <array>

#include "can/capture/csv_fields.h"
#include "can/capture/formats.h"

// Parses the CSV of python-can, which is recognized by its header.

namespace plimsoll {
namespace {

class PythonCan : public CaptureFormat {
 public:
  std::string name() const override { return "python-can"; }
  bool labelled() const override { return false; }

  bool parse(std::string_view line, bool first, FrameBatch& out, LineNotes& notes) const override {
    if (first && line.starts_with("timestamp")) return false;
    return parse_row(line, [&] {
      constexpr const char* kHeader = "timestamp,arbitration_id,extended,remote,error,dlc,data";
      std::string_view rest = line;
      const int64_t time_ns = parse_seconds(take_field(rest, kHeader), notes);
      uint32_t id = parse_hex_id(take_field(rest, kHeader)) & ~kCanExtended;
      const bool extended = parse_truth(take_field(rest, kHeader)) || id > 0x7FF;
      const bool remote = parse_truth(take_field(rest, kHeader));
      const bool error = parse_truth(take_field(rest, kHeader));
      take_field(rest, kHeader);  // Skips the DLC, which a remote frame has without a payload.
      id |= (error ? kCanError : extended ? kCanExtended : 0) | (remote ? kCanRemote : 0);
      std::array<uint8_t, 64> bytes{};
      const int64_t length = decode(take_field(rest, kHeader), bytes, out.width);
      notes.suffixes += rest.data() != nullptr;
      notes.extra_bytes += remote && length > 0;
      append_unlabelled(time_ns, id, bytes.data(), remote ? 0 : length, out);
      return true;
    });
  }

 private:
  // Decodes padded Base64 (RFC 4648).
  static int64_t decode(std::string_view text, std::array<uint8_t, 64>& bytes, int64_t width) {
    constexpr const char* kHeader = "a payload in base64";
    if (text.size() % 4 != 0) throw LineError{text.data(), kHeader};
    size_t digits = text.size();
    while (digits > 0 && text.size() - digits < 2 && text[digits - 1] == '=') --digits;
    const size_t count = digits * 6 / 8;
    if (static_cast<int64_t>(count) > width) throw too_long(text.data(), width);
    uint32_t bits = 0;
    int held = 0;
    size_t filled = 0;
    for (size_t i = 0; i < digits; ++i) {
      bits = bits << 6 | digit(&text[i]);
      held += 6;
      if (held >= 8 && filled < count) bytes[filled++] = static_cast<uint8_t>(bits >> (held -= 8));
    }
    return static_cast<int64_t>(count);
  }

  static uint32_t digit(const char* at) {
    const char c = *at;
    if (c >= 'A' && c <= 'Z') return static_cast<uint32_t>(c - 'A');
    if (c >= 'a' && c <= 'z') return static_cast<uint32_t>(c - 'a' + 26);
    if (is_digit(c)) return static_cast<uint32_t>(c - '0' + 52);
    if (c == '+') return 62;
    if (c == '/') return 63;
    throw LineError{at, "a payload in base64"};
  }
};

}  // namespace

std::unique_ptr<CaptureFormat> make_python_can() {
  return std::make_unique<PythonCan>();
}

}  // namespace plimsoll
