#include "arrow_plugin/csv_batches.h"

#include <arrow/array.h>
#include <arrow/csv/converter.h>

#include <string_view>
#include <utility>

#include "arrow_plugin/csv_rows.h"
#include "arrow_plugin/csv_types.h"
#include "arrow_plugin/object_store.h"

namespace {

// Returns a text in which bytes that a terminal may not show, as a row can have them, are question marks.
std::string printable(std::string text) {
  for (char& c : text)
    if (c < ' ' || c == 127) c = '?';  // Bytes beyond ASCII are below 0.
  return text;
}

// Adds the file to the message of an error.
arrow::Status in_file(const std::string& path, const arrow::Status& status) {
  if (status.ok() || status.IsOutOfMemory()) return status;
  return status.WithMessage(path, ": ", printable(status.message()));
}

// Opens one of several files, which must have the columns of the first.
arrow::Result<std::unique_ptr<CsvRows>> open_rows(const std::string& store,
                                                  const std::vector<std::string>& paths, size_t file,
                                                  const std::vector<std::string>& names,
                                                  arrow::MemoryPool* pool, int64_t rows) {
  auto opened = CsvRows::Open(store, paths[file], pool, rows);
  ARROW_RETURN_NOT_OK(in_file(name_of(store, paths[file]), opened.status()));
  if (file > 0 && (*opened)->names() != names)
    return arrow::Status::Invalid(name_of(store, paths[file]), ": has other columns than ", paths[0],
                                  ", expected the same in the same order");
  return opened;
}

arrow::csv::ConvertOptions convert_options() {
  arrow::csv::ConvertOptions options = arrow::csv::ConvertOptions::Defaults();
  options.null_values = {""};
  options.true_values = {"true", "True", "TRUE"};
  options.false_values = {"false", "False", "FALSE"};
  options.strings_can_be_null = true;
  return options;
}

// Converts the rows of all files, one after the other.
class CsvBatches final : public arrow::RecordBatchReader {
 public:
  CsvBatches(std::string store, std::vector<std::string> paths, arrow::MemoryPool* pool, int64_t rows)
      : store_(std::move(store)),
        paths_(std::move(paths)),
        pool_(pool),
        rows_(rows),
        options_(convert_options()) {}

  arrow::Status Open();
  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override;

 private:
  arrow::Result<std::vector<CsvType>> FindTypes();

  std::string store_;
  std::vector<std::string> paths_, names_;
  arrow::MemoryPool* pool_;
  int64_t rows_;
  arrow::csv::ConvertOptions options_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::shared_ptr<arrow::csv::Converter>> converters_;
  size_t file_ = 0;
  std::unique_ptr<CsvRows> text_;
};

arrow::Result<std::vector<CsvType>> CsvBatches::FindTypes() {
  std::vector<CsvType> types;
  for (size_t file = 0; file < paths_.size(); ++file) {
    ARROW_ASSIGN_OR_RAISE(const auto text, open_rows(store_, paths_, file, names_, pool_, rows_));
    names_ = text->names();
    types.resize(names_.size());
    for (;;) {
      const arrow::Result<bool> more = text->Next();
      ARROW_RETURN_NOT_OK(in_file(name_of(store_, paths_[file]), more.status()));
      if (!*more) break;
      for (size_t column = 0; column < types.size(); ++column)
        ARROW_RETURN_NOT_OK(text->block().VisitColumn(
            static_cast<int32_t>(column),
            [&](const uint8_t* data, uint32_t size, bool /*quoted*/, bool /*missing*/) {
              types[column].See({reinterpret_cast<const char*>(data), size});
              return arrow::Status::OK();
            }));
    }
  }
  return types;
}

arrow::Status CsvBatches::Open() {
  ARROW_ASSIGN_OR_RAISE(const std::vector<CsvType> types, FindTypes());
  arrow::FieldVector fields;
  for (size_t column = 0; column < types.size(); ++column) {
    fields.push_back(arrow::field(names_[column], types[column].Find()));
    ARROW_ASSIGN_OR_RAISE(converters_.emplace_back(),
                          arrow::csv::Converter::Make(fields.back()->type(), options_, pool_));
  }
  schema_ = arrow::schema(std::move(fields));
  return arrow::Status::OK();
}

arrow::Status CsvBatches::ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) {
  batch->reset();
  for (; file_ < paths_.size(); ++file_, text_.reset()) {
    if (text_ == nullptr) {
      ARROW_ASSIGN_OR_RAISE(text_, open_rows(store_, paths_, file_, names_, pool_, rows_));
    }
    const arrow::Result<bool> more = text_->Next();
    ARROW_RETURN_NOT_OK(in_file(name_of(store_, paths_[file_]), more.status()));
    if (!*more) continue;
    arrow::ArrayVector columns;
    for (size_t column = 0; column < converters_.size(); ++column) {
      auto converted = converters_[column]->Convert(text_->block(), static_cast<int32_t>(column));
      ARROW_RETURN_NOT_OK(
          in_file(name_of(store_, paths_[file_]) + ": column " + names_[column], converted.status()));
      columns.push_back(*std::move(converted));
    }
    *batch = arrow::RecordBatch::Make(schema_, text_->block().num_rows(), std::move(columns));
    return arrow::Status::OK();
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> open_csv(const std::string& store,
                                                                  const std::vector<std::string>& paths,
                                                                  arrow::MemoryPool* pool, int64_t rows) {
  auto batches = std::make_shared<CsvBatches>(store, paths, pool, rows);
  ARROW_RETURN_NOT_OK(batches->Open());
  return batches;
}
