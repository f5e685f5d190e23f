#include "fuzz/captures.h"

// A detected format reads the same as the named format.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  return fuzz_capture(data, size, "auto", [&](const Format& found, int64_t width, std::string_view text) {
    FormatOptions options = options_of(static_cast<char>(data[0]));
    options.name = found->name();
    const Format named = CaptureFormat::make(options, text.substr(0, 4096), "capture");
    expect(found->labelled() == named->labelled(), "a format found is the format named");
    expect(same(parse(found, width, text, true, true, true).frames,
                parse(named, width, text, true, true, true).frames),
           "a format found has the frames of the format named");
  });
}
