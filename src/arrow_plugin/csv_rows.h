#pragma once

#include <arrow/buffer.h>
#include <arrow/csv/options.h>
#include <arrow/csv/parser.h>
#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// Reads the rows of a CSV file, plain or .gz, a block at a time. The first line names the columns. The
/// separator is a comma, or a semicolon, tab or bar if the first line has such and no comma. Not thread-safe.
class CsvRows {
 public:
  /// Opens the file, whose `store` is as in object_store.h; a block has at most `rows` rows.
  static arrow::Result<std::unique_ptr<CsvRows>> Open(const std::string& store, const std::string& path,
                                                      arrow::MemoryPool* pool, int64_t rows);

  const std::vector<std::string>& names() const { return names_; }
  /// Moves to the next block; false at the end.
  arrow::Result<bool> Next();
  /// The rows of the block.
  const arrow::csv::BlockParser& block() const { return *parser_; }

 private:
  CsvRows(std::string path, arrow::MemoryPool* pool, int64_t rows)
      : path_(std::move(path)), pool_(pool), rows_(rows) {}

  arrow::Status OpenStream(const std::string& store);
  arrow::Status Fill();
  arrow::Status RequireClosedQuotes() const;
  arrow::Status ReadHeader();
  arrow::Result<int64_t> Parse(int64_t max_rows, int32_t columns);

  std::string path_;
  arrow::MemoryPool* pool_;
  int64_t rows_;
  std::shared_ptr<arrow::io::InputStream> stream_;
  std::shared_ptr<arrow::ResizableBuffer> buffer_;
  int64_t begin_ = 0, end_ = 0;  // Bytes of the buffer that are not parsed.
  bool is_at_end_ = false;
  arrow::csv::ParseOptions options_;
  std::unique_ptr<arrow::csv::BlockParser> parser_;
  std::vector<std::string> names_;
  int64_t next_row_ = 1;  // Counted from 1, with the header.
};
