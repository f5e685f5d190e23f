#include "ingest/write/mdf_blocks.h"

#include <array>

#include "ingest/write/byte_pen.h"

namespace plimsoll {
namespace {

constexpr uint64_t kHead = 24;

}  // namespace

MdfBlocks::MdfBlocks(File& file, std::span<const uint8_t> start) : file_(file) {
  write(start.data(), start.size());
}

void MdfBlocks::write(const void* data, size_t bytes) {
  file_.write(data, bytes);
  position_ += bytes;
}

uint64_t MdfBlocks::add(std::string_view id, std::span<const uint64_t> links, std::span<const uint8_t> data) {
  const uint64_t at = position_;
  std::array<uint8_t, kHead> head{};
  BytePen pen(head.data());
  pen.text(id);
  pen.zeros(4);
  pen.put(kHead + 8 * links.size() + data.size());
  pen.put(uint64_t{links.size()});
  write(head.data(), head.size());
  write(links.data(), 8 * links.size());
  write(data.data(), data.size());
  constexpr std::array<uint8_t, 8> kFilling{};
  write(kFilling.data(), (8 - position_ % 8) % 8);
  return at;
}

uint64_t MdfBlocks::add_text(std::string_view text, std::string_view id) {
  std::array<uint8_t, 512> data{};
  const size_t kept = std::min(text.size(), data.size() - 1);  // a zero ends it
  std::copy_n(text.begin(), kept, data.begin());
  return add(id, {}, std::span(data).first((kept + 8) / 8 * 8));
}

void MdfBlocks::set_link(uint64_t block, size_t link, uint64_t to) {
  file_.write_at(static_cast<int64_t>(block + kHead + 8 * link), &to, sizeof to);
}

void MdfBlocks::set_number(uint64_t block, size_t links, size_t byte, uint64_t value) {
  file_.write_at(static_cast<int64_t>(block + kHead + 8 * links + byte), &value, sizeof value);
}

}  // namespace plimsoll
