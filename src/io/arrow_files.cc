#include "io/arrow_files.h"

#include <fmt/format.h>

#include "base/error.h"
#include "io/arrow_calls.h"
#include "io/object_store.h"

namespace plimsoll {

void load_arrow() {
  static_cast<void>(arrow_plugin().function<PlimsollArrowOpen>(kArrowOpen));
}

void open_arrow_file(const Location& file, int64_t rows, ArrowArrayStream& stream) {
  if (!file.is_object() && !is_file(file)) throw InputError(file.text() + ": no such file");
  const auto open = arrow_plugin().function<PlimsollArrowOpen>(kArrowOpen);
  try {
    call_arrow([&](const PlimsollArrowPool* pool, char* error, int64_t bytes) {
      return open(file.store.c_str(), file.path.c_str(), pool, rows, &stream, error, bytes);
    });
  } catch (const InputError& error) {
    if (file.is_object()) throw_if_store_failed(file.text(), error.what());
    throw InputError(
        fmt::format("{}: cannot be read ({}); fetch or write the file again", file.text(), error.what()));
  }
}

void open_csv_files(const std::vector<Location>& files, int64_t rows, ArrowArrayStream& stream) {
  std::vector<const char*> names;
  for (const Location& file : files) names.push_back(file.path.c_str());
  const auto open = arrow_plugin().function<PlimsollArrowOpenCsv>(kArrowOpenCsv);
  const Location& first = files[0];
  try {
    call_arrow([&](const PlimsollArrowPool* pool, char* error, int64_t bytes) {
      return open(first.store.c_str(), names.data(), std::ssize(names), pool, rows, &stream, error, bytes);
    });
  } catch (const InputError& error) {
    if (first.is_object()) throw_if_store_failed(first.text(), error.what());
    throw;
  }
}

}  // namespace plimsoll
