#include "ingest/tables/file_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/error.h"
#include "ingest/tables/object_stream.h"
#include "ingest/tables/partition_columns.h"
#include "io/arrow_files.h"

namespace plimsoll {
namespace {

constexpr int64_t kBatchRows = 8192;

// Returns the format of a column with those of its children and of its dictionary.
std::string format_of(const ArrowSchema& schema) {
  std::string text = schema.format == nullptr ? "" : schema.format;
  for (int64_t i = 0; i < schema.n_children; ++i) text += fmt::format("<{}>", format_of(*schema.children[i]));
  if (schema.dictionary != nullptr) text += " of " + format_of(*schema.dictionary);
  return text;
}

// Returns the names and formats of the columns of a stream.
std::string columns_of(ArrowArrayStream& stream) {
  ArrowSchema schema{};
  if (stream.get_schema(&stream, &schema) != 0) return "";
  std::string columns;
  for (int64_t i = 0; i < schema.n_children; ++i)
    columns += fmt::format("{}{} ({})", columns.empty() ? "" : ", ", schema.children[i]->name,
                           format_of(*schema.children[i]));
  schema.release(&schema);
  return columns;
}

class FileStream {
 public:
  explicit FileStream(TableFiles table) : table_(std::move(table)), partitions_(table_) { open(); }
  ~FileStream() { close(); }
  FileStream(const FileStream&) = delete;
  FileStream& operator=(const FileStream&) = delete;

  int schema(ArrowSchema* out) {
    const int code = stream_.get_schema(&stream_, out);
    if (code == 0) partitions_.append_to(*out);
    return code;
  }
  int next(ArrowArray* out) {
    for (;;) {
      const int code = stream_.get_next(&stream_, out);
      if (code == 0 && out->release != nullptr) partitions_.append_to(*out, at_);
      if (code != 0 || out->release != nullptr || at_ + 1 == table_.files.size()) return code;
      ++at_;
      open();
    }
  }
  const char* error() {
    error_ = table_.location(at_).text() + ": ";
    const char* const text = stream_.get_last_error(&stream_);
    error_ += text == nullptr ? "" : text;
    return error_.c_str();
  }

 private:
  void close() {
    if (stream_.release != nullptr) stream_.release(&stream_);
    stream_ = {};
  }
  void open() {
    close();
    open_arrow_file(table_.location(at_), kBatchRows, stream_);
    const std::string columns = columns_of(stream_);
    if (at_ == 0) columns_ = columns;
    if (columns != columns_)
      throw InputError(fmt::format("{}: has the columns {}; expected those of {}: {}",
                                   table_.location(at_).text(), columns, table_.location(0).text(),
                                   columns_));
  }

  TableFiles table_;
  PartitionColumns partitions_;
  size_t at_ = 0;
  ArrowArrayStream stream_{};
  std::string columns_, error_;
};

FileStream& files_of(ArrowArrayStream* stream) {
  return *static_cast<FileStream*>(stream->private_data);
}

ArrowArrayStream stream_csv(const TableFiles& table) {
  if (std::ranges::count_if(table.files, is_csv) != std::ssize(table.files))
    throw InputError(fmt::format("{}: some of its files are CSV and some are not; name files of one form",
                                 table.root_location().text()));
  if (!PartitionColumns(table).empty())
    throw InputError(
        fmt::format("{}: is in a folder NAME=VALUE, and CSV has no partitions; make the files Parquet, or "
                    "write the value in a column of the file",
                    table.location(0).text()));
  std::vector<Location> files;
  for (size_t file = 0; file < table.files.size(); ++file) files.push_back(table.location(file));
  ArrowArrayStream stream{};
  open_csv_files(files, kBatchRows, stream);
  return stream;
}

ArrowArrayStream stream_parquet_or_ipc(const TableFiles& table) {
  ArrowArrayStream stream{};
  auto owned = std::make_unique<FileStream>(table);
  stream.get_schema = [](ArrowArrayStream* self, ArrowSchema* out) { return files_of(self).schema(out); };
  stream.get_next = [](ArrowArrayStream* self, ArrowArray* out) { return files_of(self).next(out); };
  stream.get_last_error = [](ArrowArrayStream* self) { return files_of(self).error(); };
  stream.release = [](ArrowArrayStream* self) {
    delete &files_of(self);
    self->release = nullptr;
  };
  stream.private_data = owned.release();
  return stream;
}

}  // namespace

ArrowArrayStream stream_files(const TableFiles& table) {
  const auto open = [&] {
    return std::ranges::any_of(table.files, is_csv) ? stream_csv(table) : stream_parquet_or_ipc(table);
  };
  return table.store.empty() ? open() : stream_objects(table, open);
}

}  // namespace plimsoll
