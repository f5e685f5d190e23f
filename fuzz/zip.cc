#include "support/zip.h"
#include "fuzz/property.h"
#include "fuzz/scratch.h"
#include "io/zip_archive.h"

namespace plimsoll {
namespace {

// Reads all members, up to some KiB of each: a small archive may unpack to any size.
void read_all(const std::filesystem::path& path) {
  const ZipArchive archive(path);
  std::string buffer(4096, '\0');
  for (int64_t member = 0; member < archive.members(); ++member)
    succeeds([&] {
      const auto stream = archive.open(member);
      for (int piece = 0; piece < 64; ++piece)
        if (stream->read(buffer.data(), buffer.size()) < buffer.size()) break;
    });
}

}  // namespace
}  // namespace plimsoll

// Reads the input as an archive, and the input packed into one.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  Ledger::process().set_cap(32 << 20);
  const std::string input(text_of(data, size));
  const auto damaged = Scratch::write("damaged.zip", input);
  succeeds([&] { read_all(damaged); });

  // The end record of an archive inside may be taken for that of the outer one, which is then refused.
  if (input.find("PK\5\6") != std::string::npos) return 0;
  const ZipArchive archive(Scratch::write("whole.zip", zip_of({{"packed", input}, {"stored", input, 0}})));
  expect(archive.members() == 2, "an archive has its members");
  for (int64_t member = 0; member < 2; ++member) {
    std::string text(size + 1, '\0');
    text.resize(archive.open(member)->read(text.data(), text.size()));
    expect(text == input, "what was packed comes back");
  }
  return 0;
}
