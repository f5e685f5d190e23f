#include "ingest/swc/tar_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr int64_t kMaxName = 1 << 20;  // Maximum size of pax records and long names.

// Parses a header field: octal digits, possibly with leading blanks and trailing blanks or zeros.
std::optional<int64_t> octal(std::string_view field) {
  while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
  while (!field.empty() && (field.back() == ' ' || field.back() == '\0')) field.remove_suffix(1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value, 8);
  if (error != std::errc{} || end != field.data() + field.size() || value < 0) return {};
  return value;
}

std::string_view text_of(std::string_view field) {
  return field.substr(0, field.find('\0'));
}

// Returns the sum of a header's bytes, with blanks in place of the checksum field.
int64_t checksum(std::string_view header) {
  int64_t sum = 0;
  for (size_t i = 0; i < header.size(); ++i)
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(header[i]);
  return sum;
}

// Returns the path in the records "LENGTH KEY=VALUE\n" of a pax header; empty if there is none.
std::string pax_path(std::string_view records) {
  std::string path;
  while (!records.empty()) {
    size_t length = 0;
    const auto [end, error] = std::from_chars(records.data(), records.data() + records.size(), length);
    const auto digits = static_cast<size_t>(end - records.data());
    if (error != std::errc{} || length < digits + 2 || length > records.size()) break;
    const std::string_view record = records.substr(digits + 1, length - digits - 2);
    if (record.starts_with("path=")) path = record.substr(5);
    records.remove_prefix(length);
  }
  return path;
}

}  // namespace

TarReader::TarReader(const std::filesystem::path& path)
    : path_(path.string()), stream_(InputStream::open(path)) {}

bool TarReader::next() {
  std::string long_name;
  for (;;) {
    skip(left_ + padding_);
    left_ = padding_ = 0;
    std::array<char, kBlock> block;
    const int64_t begin = at_;
    const size_t got = stream_->read(block.data(), block.size());
    if (got == 0 && at_ > 0) return false;  // Some writers omit the end mark.
    at_ += static_cast<int64_t>(got);
    const std::string_view header(block.data(), block.size());
    const auto refuse = [&](const char* found) {
      throw InputError(fmt::format("{}: byte {}: found {}, expected a tar archive; is it truncated?", path_,
                                   begin, found));
    };
    if (got != block.size()) refuse("the end of the file");
    if (std::ranges::all_of(header, [](char c) { return c == '\0'; })) return false;
    if (octal(header.substr(148, 8)) != checksum(header)) refuse("a header with a wrong checksum");
    const std::optional<int64_t> size = octal(header.substr(124, 12));
    if (!size) refuse("a size that is not an octal number");
    const char type = header[156];
    padding_ = (kBlock - *size % kBlock) % kBlock;
    left_ = *size;
    if (type == 'L' || type == 'x') {  // A long name of GNU or pax for the next file.
      if (*size > kMaxName) refuse("a name of more than a mebibyte");
      const std::string text = read_text(*size);
      long_name = type == 'L' ? std::string(text_of(text)) : pax_path(text);
      continue;
    }
    if (type != '0' && type != '\0') {
      long_name.clear();
      continue;
    }
    const std::string_view prefix = header.substr(257, 5) == "ustar" ? text_of(header.substr(345, 155)) : "";
    name_ = text_of(header.substr(0, 100));
    if (!prefix.empty()) name_ = fmt::format("{}/{}", prefix, name_);
    if (!long_name.empty()) name_ = long_name;
    bytes_ = *size;
    return true;
  }
}

size_t TarReader::read(char* data, size_t bytes) {
  const int64_t count = std::min(static_cast<int64_t>(bytes), left_);
  fill(data, count);
  left_ -= count;
  return static_cast<size_t>(count);
}

void TarReader::fill(char* data, int64_t bytes) {
  const size_t got = stream_->read(data, static_cast<size_t>(bytes));
  at_ += static_cast<int64_t>(got);
  if (static_cast<int64_t>(got) != bytes)
    throw InputError(fmt::format("{}: byte {}: the archive ends within {}; fetch it again", path_, at_,
                                 name_.empty() ? "a header" : name_));
}

void TarReader::skip(int64_t bytes) {
  std::array<char, 16 * kBlock> unread;
  for (; bytes > 0; bytes -= std::min<int64_t>(bytes, unread.size()))
    fill(unread.data(), std::min<int64_t>(bytes, unread.size()));
}

std::string TarReader::read_text(int64_t bytes) {
  std::string text(static_cast<size_t>(bytes), '\0');
  fill(text.data(), bytes);
  left_ = 0;
  return text;
}

}  // namespace plimsoll
