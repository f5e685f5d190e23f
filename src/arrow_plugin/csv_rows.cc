#include "arrow_plugin/csv_rows.h"

#include <arrow/io/compressed.h>
#include <arrow/util/compression.h>
#include <arrow/util/utf8.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "arrow_plugin/file_batches.h"
#include "arrow_plugin/object_store.h"
#include "arrow_plugin/require_memory.h"

namespace {

constexpr int64_t kBlock = 64 << 10;  // Bytes that are parsed at a time, unless a row has more.

// Returns the separator of a table whose first line this is.
char separator_of(std::string_view line) {
  for (const char separator : {',', ';', '\t', '|'})
    if (line.find(separator) != std::string_view::npos) return separator;
  return ',';
}

}  // namespace

arrow::Result<std::unique_ptr<CsvRows>> CsvRows::Open(const std::string& store, const std::string& path,
                                                      arrow::MemoryPool* pool, int64_t rows) {
  std::unique_ptr<CsvRows> opened(new CsvRows(path, pool, rows));
  ARROW_RETURN_NOT_OK(opened->OpenStream(store));
  ARROW_RETURN_NOT_OK(opened->ReadHeader());
  return opened;
}

arrow::Status CsvRows::OpenStream(const std::string& store) {
  ARROW_ASSIGN_OR_RAISE(stream_, open_source(store, path_, pool_));
  if (const int64_t read_ahead = read_ahead_of(store, pool_); read_ahead > 0) {
    ARROW_ASSIGN_OR_RAISE(stream_, buffered(stream_, pool_, read_ahead));
  }
  ARROW_ASSIGN_OR_RAISE(buffer_, arrow::AllocateResizableBuffer(kBlock, pool_));
  if (!path_.ends_with(".gz")) return arrow::Status::OK();
  ARROW_ASSIGN_OR_RAISE(const auto codec, arrow::util::Codec::Create(arrow::Compression::GZIP));
  ARROW_ASSIGN_OR_RAISE(stream_, arrow::io::CompressedInputStream::Make(codec.get(), stream_, pool_));
  return arrow::Status::OK();
}

// Reads on, into a larger buffer if not even one row ends in this one.
arrow::Status CsvRows::Fill() {
  std::memmove(buffer_->mutable_data(), buffer_->data() + begin_, static_cast<size_t>(end_ - begin_));
  end_ -= std::exchange(begin_, 0);
  if (end_ == buffer_->size()) ARROW_RETURN_NOT_OK(buffer_->Resize(2 * end_));
  while (end_ < buffer_->size()) {
    ARROW_ASSIGN_OR_RAISE(const int64_t got,
                          stream_->Read(buffer_->size() - end_, buffer_->mutable_data() + end_));
    end_ += got;
    is_at_end_ = got == 0;
    if (is_at_end_) break;
  }
  return arrow::Status::OK();
}

// Checks that no quote is open at the end of the file, which the buffer holds from the start of a row: Arrow
// takes such a quote to be closed there.
arrow::Status CsvRows::RequireClosedQuotes() const {
  enum class At : uint8_t { row_start, field_start, field, quotes, end_of_quotes };
  const std::string_view text(reinterpret_cast<const char*>(buffer_->data()), static_cast<size_t>(end_));
  int64_t row = next_row_;
  At at = At::row_start;
  for (auto byte = static_cast<size_t>(begin_); byte < text.size(); ++byte) {
    const char c = text[byte];
    if (at == At::quotes) {
      if (c == '"') at = At::end_of_quotes;
    } else if (c == '\n' || c == '\r') {
      if (c == '\r' && text.substr(byte + 1, 1) == "\n") ++byte;
      if (at != At::row_start || !options_.ignore_empty_lines) ++row;
      at = At::row_start;
    } else if (c == '"' && at != At::field) {
      at = At::quotes;  // They begin, or hold a doubled quote.
    } else {
      at = c == options_.delimiter ? At::field_start : At::field;
    }
  }
  if (at != At::quotes) return arrow::Status::OK();
  return arrow::Status::Invalid("row ", row, " has a quote that is not closed");
}

// Parses rows that are in the buffer and returns their number.
arrow::Result<int64_t> CsvRows::Parse(int64_t max_rows, int32_t columns) {
  // The parser holds the text, and 4 bytes for each field that the rows may have; both may grow to twice the
  // size.
  const int64_t fields = (max_rows + 1) * (std::max(columns, 1) + 1);
  ARROW_RETURN_NOT_OK(require_memory(pool_, 8 * (end_ - begin_) + 8 * fields + kBlock));
  parser_ = std::make_unique<arrow::csv::BlockParser>(pool_, options_, columns, next_row_,
                                                      static_cast<int32_t>(max_rows));
  std::string_view text(reinterpret_cast<const char*>(buffer_->data() + begin_),
                        static_cast<size_t>(end_ - begin_));
  if (!is_at_end_ && text.ends_with('\r')) text.remove_suffix(1);  // The rest of the line end may follow.
  uint32_t used = 0;
  ARROW_RETURN_NOT_OK(is_at_end_ ? parser_->ParseFinal(text, &used) : parser_->Parse(text, &used));
  begin_ += used;
  next_row_ += parser_->num_rows();
  return parser_->num_rows();
}

arrow::Status CsvRows::ReadHeader() {
  constexpr std::string_view kMark = "\xef\xbb\xbf";  // The byte order mark of UTF-8.
  ARROW_RETURN_NOT_OK(Fill());
  std::string_view text(reinterpret_cast<const char*>(buffer_->data()), static_cast<size_t>(end_));
  if (text.starts_with(kMark)) begin_ = static_cast<int64_t>(kMark.size());
  options_.newlines_in_values = true;
  options_.delimiter = separator_of(text.substr(0, text.find('\n')));
  if (is_at_end_ && text.find_first_not_of("\r\n", static_cast<size_t>(begin_)) == std::string_view::npos)
    return arrow::Status::Invalid("has no line, expected one with the names of columns");
  for (;;) {
    if (is_at_end_) ARROW_RETURN_NOT_OK(RequireClosedQuotes());
    ARROW_ASSIGN_OR_RAISE(const int64_t rows, Parse(1, -1));
    if (rows > 0) break;
    ARROW_RETURN_NOT_OK(Fill());
  }
  arrow::util::InitializeUTF8();
  ARROW_RETURN_NOT_OK(
      parser_->VisitLastRow([&](const uint8_t* data, uint32_t size, bool /*quoted*/, bool /*missing*/) {
        names_.emplace_back(reinterpret_cast<const char*>(data), size);
        if (arrow::util::ValidateUTF8(data, size)) return arrow::Status::OK();
        return arrow::Status::Invalid("the name of column ", names_.size() - 1, " is not UTF-8; rename it");
      }));
  options_.ignore_empty_lines = names_.size() != 1;  // The only value of such a row may be missing.
  return arrow::Status::OK();
}

arrow::Result<bool> CsvRows::Next() {
  for (;;) {
    if (begin_ < end_) {
      ARROW_ASSIGN_OR_RAISE(const int64_t rows, Parse(rows_, static_cast<int32_t>(names_.size())));
      if (rows > 0) return true;
    }
    if (is_at_end_) return false;
    ARROW_RETURN_NOT_OK(Fill());
    if (is_at_end_) ARROW_RETURN_NOT_OK(RequireClosedQuotes());
  }
}
