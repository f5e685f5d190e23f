#include "io/npy.h"
#include "fuzz/property.h"
#include "fuzz/scratch.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  NpyShape shape;
  const bool header = succeeds([&] {
    // The buffer has exactly the size of the input: a mapped file would have the rest of its page.
    const std::vector<uint8_t> bytes(data, data + size);
    const int64_t offset = parse_npy_header(std::as_bytes(std::span(bytes)), "x.npy", shape);
    expect(offset > 0 && offset <= static_cast<int64_t>(size), "data starts in the file");
    const std::string again = npy_header(shape);
    NpyShape same;
    expect(
        parse_npy_header(std::as_bytes(std::span(again)), "x.npy", same) == kNpyDataOffset && same == shape,
        "a header that was read is written and read again");
  });
  const bool view = succeeds([&] {
    const NpyView npy(Scratch::write("x.npy", text_of(data, size)));
    expect(npy.shape() == shape, "the view has the header's shape");
    expect(static_cast<int64_t>(npy.data().size()) == shape.elements() * npy_item_bytes(shape.dtype),
           "the data is what the shape says");
    int64_t sum = 0;
    for (const std::byte byte : npy.data()) sum += static_cast<int64_t>(byte);
    expect(sum >= 0, "all data can be read");
    const std::optional<NumberType> narrow = npy_number_type(shape.dtype);
    int typed = narrow && narrow != NumberType::f32 && shape.dtype != "|u1";
    typed += succeeds([&] { npy.values<int64_t>(); });
    typed += succeeds([&] { npy.values<int32_t>(); });
    typed += succeeds([&] { npy.values<uint32_t>(); });
    typed += succeeds([&] { npy.values<uint8_t>(); });
    typed += succeeds([&] { npy.values<float>(); });
    expect(typed == 1, "the data is of one type");
  });
  expect(header || !view, "no view without a header");
  return 0;
}
