#include "can/capture/fields.h"
#include "can/capture/formats.h"

namespace plimsoll {
namespace {

void append_frame(int64_t time_ns, uint32_t id, const uint8_t* bytes, int64_t length, uint8_t label,
                  FrameBatch& out, LineNotes& notes) {
  notes.empty_payload += length == 0;
  append_bytes(bytes, length, out);
  out.time_ns.push_back(time_ns);
  out.can_id.push_back(id);
  out.label.push_back(label);
}

class HcrlCsv : public CaptureFormat {
 public:
  std::string name() const override { return "hcrl-csv"; }

  bool parse(std::string_view line, bool first, FrameBatch& out, LineNotes& notes) const override {
    std::string_view rest = line;
    const auto next = [&]() {
      if (rest.data() == nullptr)
        throw LineError{line.data() + line.size(), "more fields: timestamp,ID,DLC,bytes...,R or T"};
      const size_t comma = rest.find(',');
      const std::string_view field = trim(rest.substr(0, comma));
      rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
      return field;
    };
    const std::string_view time = next();
    if (first && !time.empty() && !is_digit(time.front()) && (rest.data() == nullptr || !is_hex_id(next())))
      return false;
    const int64_t time_ns = parse_seconds(time, notes);
    const uint32_t id = parse_hex_id(next());
    const std::string_view dlc = next();
    const int64_t length = parse_length(dlc, false);
    if (length > out.width) throw too_long(dlc.data(), out.width);
    std::array<uint8_t, 64> bytes{};
    for (int64_t i = 0; i < length; ++i) bytes[static_cast<size_t>(i)] = parse_byte(next(), false);
    // Rows with fewer bytes have fewer fields. Some tools pad them with empty fields instead.
    std::string_view flag = next();
    while (flag.empty() && rest.data() != nullptr) flag = next();
    if ((flag != "R" && flag != "T") || rest.data() != nullptr)
      throw LineError{flag.data(), "the flag R (normal) or T (attack) after DLC bytes"};
    append_frame(time_ns, id, bytes.data(), length, flag == "T", out, notes);
    return true;
  }
};

class HcrlText : public CaptureFormat {
 public:
  std::string name() const override { return "hcrl-text"; }
  bool labelled() const override { return false; }

  bool parse(std::string_view line, bool, FrameBatch& out, LineNotes& notes) const override {
    std::string_view rest = trim(line);
    const auto expect = [&](std::string_view word) {
      const char* const at = rest.data();
      if (take_word(rest) != word) throw LineError{at, "Timestamp: SECONDS ID: HEX FLAGS DLC: LENGTH BYTES"};
    };
    expect("Timestamp:");
    const int64_t time_ns = parse_seconds(take_word(rest), notes);
    expect("ID:");
    const uint32_t id = parse_hex_id(take_word(rest));
    take_word(rest);  // Three flag digits, always 000 in the published files.
    expect("DLC:");
    const std::string_view dlc = take_word(rest);
    const int64_t length = parse_length(dlc, false);
    if (length > out.width) throw too_long(dlc.data(), out.width);
    std::array<uint8_t, 64> bytes{};
    for (int64_t i = 0; i < length; ++i) bytes[static_cast<size_t>(i)] = parse_byte(take_word(rest), false);
    if (!rest.empty()) throw LineError{rest.data(), "the end of the line after DLC bytes"};
    append_frame(time_ns, id, bytes.data(), length, kUnlabelled, out, notes);
    return true;
  }
};

}  // namespace

std::unique_ptr<CaptureFormat> make_hcrl_csv() {
  return std::make_unique<HcrlCsv>();
}
std::unique_ptr<CaptureFormat> make_hcrl_text() {
  return std::make_unique<HcrlText>();
}

}  // namespace plimsoll
