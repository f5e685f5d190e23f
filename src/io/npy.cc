#include "io/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "io/write_back.h"

namespace plimsoll {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kBufferBytes = 256 << 10;
constexpr size_t kPieceBytes = 1 << 20;
constexpr int64_t kWriteBackBytes = 8 << 20;
// In the order of NumberType.
constexpr std::array<std::string_view, 5> kNumberDtypes = {"<f4", "<f2", "<u2", "|u1", "|i1"};

InputError bad(const std::string& path, const std::string& what) {
  return InputError(path + ": not a usable .npy file: " + what);
}

// Writes data that ends at byte `end`, and starts writing whole chunks of the file to the disk.
void write_on(File& file, const void* data, size_t bytes, int64_t end) {
  file.write(data, bytes);
  const int64_t last = end / kWriteBackBytes;
  const int64_t first = (end - static_cast<int64_t>(bytes)) / kWriteBackBytes;
  if (last > first)
    start_write_back(file, kNpyDataOffset + first * kWriteBackBytes, (last - first) * kWriteBackBytes);
}

// Returns the text after "'key':" in the header's Python dictionary.
std::string_view field(std::string_view header, std::string_view key, const std::string& path) {
  const size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) throw bad(path, fmt::format("the header has no '{}'", key));
  std::string_view rest = header.substr(at + key.size() + 3);
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  return rest;
}

std::vector<int64_t> parse_shape(std::string_view text, const std::string& path) {
  if (text.empty() || text.front() != '(') throw bad(path, "the shape is not a tuple");
  std::vector<int64_t> shape;
  for (text.remove_prefix(1); !text.empty() && text.front() != ')';) {
    if (text.front() == ' ' || text.front() == ',') {
      text.remove_prefix(1);
      continue;
    }
    int64_t size = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (failed != std::errc() || size < 0) throw bad(path, "the shape contains something that is not a size");
    shape.push_back(size);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
  }
  if (text.empty()) throw bad(path, "the shape has no end");
  return shape;
}

}  // namespace

int64_t NpyShape::elements() const {
  int64_t count = 1;
  for (const int64_t size : shape)
    if (__builtin_mul_overflow(count, size, &count)) return -1;
  return count;
}

const char* npy_dtype(NumberType type) {
  return kNumberDtypes[static_cast<size_t>(type)].data();
}

std::optional<NumberType> npy_number_type(const std::string& dtype) {
  const auto* const found = std::ranges::find(kNumberDtypes, dtype);
  if (found == kNumberDtypes.end()) return std::nullopt;
  return static_cast<NumberType>(found - kNumberDtypes.begin());
}

int64_t npy_item_bytes(const std::string& dtype) {
  if (dtype == "<i8" || dtype == "<f8") return 8;
  if (dtype == "<i4" || dtype == "<u4") return 4;
  if (dtype == "<i2") return 2;
  const std::optional<NumberType> type = npy_number_type(dtype);
  return type ? bytes_of(*type) : 0;
}

std::string npy_header(const NpyShape& shape) {
  std::string sizes;
  for (const int64_t size : shape.shape) sizes += fmt::format("{}, ", size);
  if (shape.shape.size() > 1) sizes.resize(sizes.size() - 2);
  if (shape.shape.size() == 1) sizes.resize(sizes.size() - 1);
  std::string header(kMagic);
  header += {'\x01', '\x00'};
  const auto length = static_cast<uint16_t>(kNpyDataOffset - 10);
  header += {static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
  header += fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", shape.dtype, sizes);
  header.resize(kNpyDataOffset - 1, ' ');
  return header + "\n";
}

NpyLayout parse_npy_layout(std::span<const std::byte> bytes, const std::string& path) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.substr(0, kMagic.size()) != kMagic) throw bad(path, "it does not begin with NumPy's magic string");
  if (text.size() < 12) throw bad(path, "it ends inside the header");
  const auto byte = [&](size_t at) { return static_cast<size_t>(static_cast<unsigned char>(text[at])); };
  const size_t version = byte(6);
  if (version < 1 || version > 3) throw bad(path, fmt::format("version {} is unknown", version));
  const size_t begin = version == 1 ? 10 : 12;
  size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > text.size() - begin) throw bad(path, "it ends inside the header");
  const std::string_view header = text.substr(begin, length);

  const std::string_view descr = field(header, "descr", path);
  const size_t quote = descr.empty() || descr.front() != '\'' ? std::string_view::npos : descr.find('\'', 1);
  if (quote == std::string_view::npos) throw bad(path, "the dtype is not a plain name");
  NpyLayout layout;
  layout.shape.dtype = descr.substr(1, quote - 1);
  const std::string_view order = field(header, "fortran_order", path);
  layout.fortran = order.starts_with("True");
  if (!layout.fortran && !order.starts_with("False")) throw bad(path, "the order is neither True nor False");
  layout.shape.shape = parse_shape(field(header, "shape", path), path);
  layout.offset = static_cast<int64_t>(begin + length);
  return layout;
}

int64_t parse_npy_header(std::span<const std::byte> bytes, const std::string& path, NpyShape& shape) {
  NpyLayout layout = parse_npy_layout(bytes, path);
  if (npy_item_bytes(layout.shape.dtype) == 0)
    throw bad(path, fmt::format("dtype '{}' is not supported", layout.shape.dtype));
  if (layout.fortran) throw bad(path, "the data is in Fortran order");
  shape = std::move(layout.shape);
  return layout.offset;
}

NpyWriter::NpyWriter(const std::filesystem::path& path, std::string dtype, std::vector<int64_t> row,
                     FileSystem& files)
    : file_(File::create(path, files)), shape_{std::move(dtype), std::move(row)}, buffer_(kBufferBytes) {
  shape_.shape.insert(shape_.shape.begin(), 0);
  const std::array<char, kNpyDataOffset> blank{};
  file_.write(blank.data(), blank.size());
}

void NpyWriter::append_bytes(const void* data, size_t bytes) {
  const auto* at = static_cast<const char*>(data);
  while (bytes > 0) {
    // Hashing a chunk brings it into the processor's cache before it is written.
    const size_t piece = std::min(bytes, kPieceBytes);
    hasher_.add(at, piece);
    if (filled_ + piece > buffer_.size()) flush();
    data_bytes_ += static_cast<int64_t>(piece);
    if (piece > buffer_.size()) {
      write_on(file_, at, piece, data_bytes_);
    } else {
      std::memcpy(buffer_.data() + filled_, at, piece);
      filled_ += piece;
    }
    at += piece;
    bytes -= piece;
  }
}

void NpyWriter::flush() {
  write_on(file_, buffer_.data(), std::exchange(filled_, 0), data_bytes_);
}

NpyShape NpyWriter::finish(bool sync) {
  flush();
  int64_t row_bytes = npy_item_bytes(shape_.dtype);
  for (size_t i = 1; i < shape_.shape.size(); ++i) row_bytes *= shape_.shape[i];
  if (row_bytes > 0 && data_bytes_ % row_bytes != 0)
    throw Failure(file_.path() + ": its last row is incomplete; this is a bug in Plimsoll");
  shape_.shape[0] = row_bytes == 0 ? 0 : data_bytes_ / row_bytes;
  const std::string header = npy_header(shape_);
  file_.write_at(0, header.data(), header.size());
  if (sync) file_.sync();
  return shape_;
}

NpyView::NpyView(const std::filesystem::path& path) : file_(path) {
  const int64_t offset = parse_npy_header(file_.bytes(), file_.path(), shape_);
  const int64_t item = npy_item_bytes(shape_.dtype);
  const int64_t expected = shape_.elements();
  const auto found = static_cast<int64_t>(file_.bytes().size()) - offset;
  if (expected < 0 || expected > found / item || expected * item != found)
    throw bad(file_.path(),
              fmt::format("its header promises {} elements of {} bytes, but {} bytes of data follow",
                          expected, item, found));
  data_ = file_.bytes().subspan(static_cast<size_t>(offset));
  if (reinterpret_cast<uintptr_t>(data_.data()) % static_cast<uintptr_t>(item) != 0)
    throw bad(file_.path(), "its data is not aligned");
}

void NpyView::require_dtype(const char* dtype) const {
  if (shape_.dtype != dtype)
    throw InputError(fmt::format("{}: dtype is '{}', expected '{}'", file_.path(), shape_.dtype, dtype));
}

}  // namespace plimsoll
