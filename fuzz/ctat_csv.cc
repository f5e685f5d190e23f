#include "fuzz/captures.h"

// A line that the four-column CSV accepts is read to the same frame as a table of those four columns. A line
// followed by others, which has a faster code path if it is ordinary, gives the same frame as alone.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  return fuzz_capture(data, size, "ctat-csv", [](const Format& format, int64_t width, std::string_view text) {
    expect_blanks_do_not_matter(format, width, text, ',', "\t, ");
    static const Format table =
        CaptureFormat::make({.name = "table", .columns = {"time", "id", "payload", "label"}}, "", "");
    while (!text.empty()) {
      const std::string line(take_line(text));
      if (line.ends_with('\r') || trim(line).empty()) continue;
      const auto frame = parse_line(*format, width, line);
      const bool refused =
          parse(format, width, line + std::string(64, '\n'), false, true, false).error.has_value();
      expect(frame.has_value() != refused, "a line is refused wherever it is");
      if (!frame) continue;
      const auto as_table = parse_line(*table, width, line);
      expect(as_table && same(*frame, *as_table), "a table of the four columns has the same frame");
    }
  });
}
