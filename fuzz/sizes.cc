#include <cmath>

#include "base/units.h"
#include "can/windows/windows.h"
#include "fuzz/property.h"

// Parses memory sizes and window lengths, as the command line does.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  const std::string text(text_of(data, size));
  succeeds([&] {
    const int64_t bytes = parse_size(text, 16 * kGiB);
    expect(bytes > 0, "a size is above 0");
    expect(parse_size(std::to_string(bytes), 1) <= bytes, "a number of bytes is itself");
    if (bytes > 1000 * 1024 * kGiB) return;  // Units above TiB are printed but not parsed.
    const int64_t again = parse_size(format_bytes(bytes), 1);
    expect(std::abs(static_cast<double>(again - bytes)) <= 0.005 * static_cast<double>(bytes) + 1,
           "a size is printed to three digits");
    std::string digits = format_count(bytes);
    std::erase(digits, ',');
    expect(digits == std::to_string(bytes), "a count is printed whole");
    expect(!format_seconds(static_cast<double>(bytes)).empty(), "seconds are printed");
  });
  succeeds([&] {
    const WindowLength length = WindowLength::parse(text);
    const WindowLength again = WindowLength::parse(length.text());
    expect(again.value == length.value && again.unit == length.unit, "a length is printed and read again");
  });
  return 0;
}
