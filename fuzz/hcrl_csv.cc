#include "fuzz/captures.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  return fuzz_capture(data, size, "hcrl-csv", [](const Format& format, int64_t width, std::string_view text) {
    expect_blanks_do_not_matter(format, width, text, ',', "\t, ");
  });
}
