#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "base/hash.h"
#include "fuzz/property.h"
#include "fuzz/scratch.h"
#include "io/file.h"
#include "io/input_stream.h"

namespace plimsoll {

constexpr size_t kMaxUnpacked = 256 << 10;  // A small file may unpack to any size.

/// Returns the content of a stream, read in chunks of `piece` bytes, up to kMaxUnpacked; nothing if it ends
/// with an error.
inline std::optional<std::string> unpack(const std::filesystem::path& path, size_t piece,
                                         AtCut at_cut = AtCut::fail) {
  std::string text;
  bool ended = false;
  const bool good = succeeds([&] {
    const auto stream = InputStream::open(path, at_cut);
    std::string buffer(piece, '\0');
    while (!ended && text.size() < kMaxUnpacked) {
      const size_t got = stream->read(buffer.data(), piece);
      text.append(buffer, 0, got);
      ended = got < piece;
    }
    if (!ended) return;
    expect(stream->read(buffer.data(), piece) == 0, "nothing follows the end");
    const std::string file = read_text(path);
    Hasher hasher;
    hasher.add(file.data(), file.size());
    expect(
        stream->source_hash() == hasher.hex64() && stream->bytes_read() == static_cast<int64_t>(file.size()),
        "hash and bytes are those of the file");
  });
  if (!good) return std::nullopt;
  text.resize(std::min(text.size(), kMaxUnpacked));
  return text;
}

/// Reads the input as a packed file, and the input packed in two halves by `pack`.
template <typename Pack>
int fuzz_stream(const uint8_t* data, size_t size, const char* name, Pack&& pack) {
  // A window that a damaged header asks for must be refused, not allocated.
  Ledger::process().set_cap(32 << 20);
  const std::string_view input = text_of(data, size);
  const auto damaged = Scratch::write(name, input);
  const auto at_once = unpack(damaged, 64 << 10);
  expect(at_once == unpack(damaged, 977), "the pieces that are asked for change nothing");
  const auto up_to_cut = unpack(damaged, 64 << 10, AtCut::stop);
  expect(up_to_cut == unpack(damaged, 977, AtCut::stop), "nor do they where the data are cut off");
  expect(!at_once || at_once == up_to_cut, "of whole data nothing is left out");

  const std::string front(input.substr(0, size / 2));
  const std::string back(input.substr(size / 2));
  const auto whole = Scratch::write(name, pack(front) + pack(back));
  const std::string_view text = input.starts_with("\xEF\xBB\xBF") ? input.substr(3) : input;
  expect(unpack(whole, 4093) == std::string(text), "what was packed comes back, but for a byte order mark");
  return 0;
}

}  // namespace plimsoll
