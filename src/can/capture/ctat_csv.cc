#include <cctype>

#include "can/capture/ctat_lines.h"
#include "can/capture/fields.h"
#include "can/capture/formats.h"

namespace plimsoll {
namespace {

class CtatCsv : public CaptureFormat {
 public:
  std::string name() const override { return "ctat-csv"; }

  size_t parse_usual(std::string_view text, FrameBatch& out, int64_t& lines) const override {
    return parse_usual_ctat_lines(text, out, lines);
  }

  bool parse(std::string_view line, bool first, FrameBatch& out, LineNotes& notes) const override {
    constexpr size_t kFields = 4;
    std::array<std::string_view, kFields> fields;
    std::string_view rest = line;
    for (size_t i = 0; i < kFields; ++i) {
      const size_t comma = rest.find(',');
      const bool last = i == kFields - 1;
      if ((comma == std::string_view::npos) != last)
        throw LineError{comma == std::string_view::npos ? line.data() + line.size() : rest.data() + comma,
                        "four fields: timestamp,arbitration_id,data_field,attack"};
      fields[i] = rest.substr(0, comma);
      rest.remove_prefix(last ? rest.size() : comma + 1);
    }
    const std::string_view time = trim(fields[0]);
    // A header starts with a letter and has no ID. Columns are identified by position, whatever the header
    // says.
    if (first && !time.empty() && std::isalpha(static_cast<unsigned char>(time.front())) != 0 &&
        !is_hex_id(trim(fields[1])))
      return false;

    const int64_t time_ns = parse_seconds(time, notes);
    const uint32_t id = parse_hex_id(trim(fields[1]));
    const std::string_view label = trim(fields[3]);
    if (label != "0" && label != "1") throw LineError{label.data(), "0 (normal) or 1 (attack)"};
    const std::string_view digits = trim(fields[2]);
    notes.trimmed_payload += digits.size() != fields[2].size();
    append_payload(digits, out, notes);
    out.time_ns.push_back(time_ns);
    out.can_id.push_back(id);
    out.label.push_back(static_cast<uint8_t>(label[0] - '0'));
    return true;
  }
};

}  // namespace

std::unique_ptr<CaptureFormat> make_ctat_csv() {
  return std::make_unique<CtatCsv>();
}

}  // namespace plimsoll
