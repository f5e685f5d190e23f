#include "can/capture/mdf_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "can/capture/byte_window.h"

namespace plimsoll {
namespace {

constexpr uint64_t kBlockHeader = MdfBlock::kHeader;

}  // namespace

uint64_t MdfBlock::link(size_t index) const {
  return index < link_count() ? load<uint64_t>(links.data() + 8 * index) : 0;
}

MdfFile::MdfFile(const std::filesystem::path& path) : file_(path) {
  const std::span<const uint8_t> all = bytes();
  if (all.size() < 64) refuse(0, "a file that ends in its first block", "64 bytes; fetch it again");
  const std::string_view name(reinterpret_cast<const char*>(all.data()), 8);
  const auto version = load<uint16_t>(all.data() + 28);
  if (version < 400 || version > 499)
    refuse(28, fmt::format("MDF version {}", version), "4.00 to 4.99; convert the file to MDF 4");
  if (name == "UnFinMF ") left_undone_ = load<uint16_t>(all.data() + 60);
  const MdfBlock head = block(64, "##HD");
  if (head.data.size() < 8) refuse(64, "a short header", "32 bytes of it");
  const auto start = load<uint64_t>(head.data.data());
  if (start > 7'000'000'000'000'000'000)
    refuse(64, fmt::format("{} ns as the start of the measurement", start), "a time before the year 2191");
  start_ns_ = static_cast<int64_t>(start);
  first_data_group_ = head.link(0);
  last_zeros_ = all.size();
  while (left_undone_ != 0 && last_zeros_ > 0 && all[last_zeros_ - 1] == 0) --last_zeros_;
}

std::span<const uint8_t> MdfFile::bytes() const {
  const auto bytes = file_.bytes();
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

void MdfFile::refuse(uint64_t at, const std::string& found, const std::string& expected) const {
  throw InputError(fmt::format("{}: byte {}: found {}, expected {}", file_.path(), at, found, expected));
}

std::optional<MdfBlock> MdfFile::data_block(uint64_t at, bool& is_whole) const {
  const std::span<const uint8_t> all = bytes();
  is_whole = false;
  if (at > all.size() || all.size() - at < kBlockHeader) return std::nullopt;
  const uint8_t* const header = all.data() + at;
  const auto length = load<uint64_t>(header + 8);
  const auto links = load<uint64_t>(header + 16);
  const std::string_view id(reinterpret_cast<const char*>(header), 4);
  if (!id.starts_with("##")) refuse(at, "something else", "a block, which starts with ##");
  // A DT block that is not finalised has no valid length.
  const uint64_t stated = length < kBlockHeader ? kBlockHeader : length;
  const uint64_t available = all.size() - at;
  is_whole = stated <= available;
  const uint64_t kept = std::min(stated, available);
  if (links > (stated - kBlockHeader) / 8)
    refuse(at, fmt::format("a block {} of {} bytes and {} links", id, length, links),
           "a block that is large enough for its links; fetch the file again");
  if (links > (kept - kBlockHeader) / 8) return std::nullopt;
  const uint64_t data = kBlockHeader + 8 * links;
  return MdfBlock{at, id, {header + kBlockHeader, 8 * links}, {header + data, kept - data}};
}

MdfBlock MdfFile::block(uint64_t at) const {
  bool is_whole = false;
  const std::optional<MdfBlock> block = data_block(at, is_whole);
  if (!is_whole)
    throw MdfEnd(
        fmt::format("{}: byte {}: found a block that goes on after the end of the file at byte {}, expected "
                    "all of it; fetch the file again",
                    file_.path(), at, bytes().size()));
  return *block;
}

MdfBlock MdfFile::block(uint64_t at, std::string_view id) const {
  MdfBlock found = block(at);
  if (found.id != id) refuse(at, fmt::format("a block {}", found.id), fmt::format("a block {}", id));
  return found;
}

std::string MdfFile::text(uint64_t at) const {
  if (at == 0) return "";
  const MdfBlock found = block(at);
  const std::string_view text(reinterpret_cast<const char*>(found.data.data()),
                              std::min<size_t>(found.data.size(), 4096));
  return std::string(text.substr(0, text.find('\0')));
}

}  // namespace plimsoll
