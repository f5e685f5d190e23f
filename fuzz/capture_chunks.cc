#include <array>

#include "fuzz/captures.h"
#include "fuzz/scratch.h"
#include "support/compress.h"

// The chunks of two captures add up to their texts. The input is the second capture, after three bytes; the
// first one, packed if the first byte is odd, repeats it as often as the next two bytes say, so that it may
// take several chunks.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  if (size < 4) return 0;
  const std::string unit(text_of(data + 3, size - 3));
  constexpr size_t kMax = 5 << 18;  // In bytes: a chunk and a quarter.
  std::string repeated;
  for (size_t k = std::min<size_t>(data[1] << 8 | data[2], kMax / unit.size()); k > 0; --k) repeated += unit;

  // Texts begin after a byte order mark, if there is one.
  const auto without_mark = [](const std::string& text) {
    return text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text;
  };
  const std::array<std::string, 2> texts = {without_mark(repeated), without_mark(unit)};
  std::vector<CaptureFile> captures(2);
  captures[0].path = data[0] % 2 == 1 ? Scratch::write("a.csv.zst", zstd_frame(repeated))
                                      : Scratch::write("a.csv", repeated);
  captures[1].path = Scratch::write("b.csv", unit);
  const FormatOptions options{.name = "ctat-csv"};
  succeeds([&] {
    CaptureChunks chunks(captures, options);
    CaptureChunk chunk;
    for (size_t capture = 0; capture < captures.size(); ++capture) {
      std::string_view rest = texts[capture];
      for (bool first = true; first || !chunk.last; first = false) {
        expect(chunks.next(chunk) && chunk.capture == capture, "captures come one after the other");
        expect(chunk.first == first, "the first chunk says so, and no other");
        expect(rest.starts_with(chunk.text()), "chunks are the text");
        expect(chunk.last || chunk.text().ends_with('\n'), "a chunk ends with a line");
        rest.remove_prefix(chunk.text_bytes);
      }
      expect(rest.empty(), "chunks are the whole text");
      const std::string file = read_text(captures[capture].path);
      Hasher hasher;
      hasher.add(file.data(), file.size());
      expect(chunk.hash == hasher.hex64(), "the hash is that of the file");
    }
    expect(!chunks.next(chunk), "there is no third capture");
  });
  return 0;
}
