#include "arrow_plugin/object_store.h"

#include <arrow/filesystem/filesystem.h>
#include <arrow/filesystem/s3fs.h>
#include <arrow/io/file.h>
#include <arrow/util/io_util.h>
#include <arrow/util/key_value_metadata.h>
#include <dlfcn.h>

#include <algorithm>
#include <any>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <map>
#include <utility>

#include "arrow_plugin/require_memory.h"

namespace {

// Repeats a request that failed for a passing reason, until the user interrupts. The client's own strategy
// would wait for almost a minute, and cannot be interrupted.
class Retries final : public arrow::fs::S3RetryStrategy {
 public:
  explicit Retries(arrow::MemoryPool* pool) : pool_(pool) {
    if (const char* const attempts = std::getenv("AWS_MAX_ATTEMPTS"); attempts != nullptr)
      max_ = std::max<int64_t>(std::atoll(attempts), 1);
  }
  bool ShouldRetry(const AWSErrorDetail& error, int64_t retries) override {
    return error.should_retry && retries + 1 < max_ && require_memory(pool_, 0).ok();
  }
  int64_t CalculateDelayBeforeNextRetry(const AWSErrorDetail& /*error*/, int64_t retries) override {
    return int64_t{200} << std::min<int64_t>(retries, 4);  // Milliseconds.
  }

 private:
  arrow::MemoryPool* pool_;
  int64_t max_ = 5;
};

using Store = std::shared_ptr<arrow::fs::FileSystem>;

// The stores that were opened. They live until the process ends.
std::map<std::string, Store>& stores() {
  static auto* const opened = new std::map<std::string, Store>;
  return *opened;
}

// Loads the library with the client of S3, which is beside libarrow in the wheel.
arrow::Status load_client() {
  static const arrow::Status loaded = []() -> arrow::Status {
    Dl_info arrow_library{};
    const auto known = reinterpret_cast<void*>(&arrow::fs::EnsureFinalized);
    if (::dladdr(known, &arrow_library) == 0) return arrow::Status::IOError("libarrow has no path");
    std::string path = arrow_library.dli_fname;
    const size_t name = path.rfind("libarrow.so");
    if (name == std::string::npos) return arrow::Status::IOError(path, ": expected libarrow.so");
    path.replace(name, 11, "libarrow_s3.so");
    ARROW_RETURN_NOT_OK(arrow::fs::LoadFileSystemFactories(path.c_str()));
    std::signal(SIGPIPE, SIG_IGN);  // The client writes to connections that the server has closed.
    return arrow::io::SetIOThreadPoolCapacity(1);  // A thread that lists objects.
  }();
  return loaded;
}

arrow::Result<Store> open_store(const std::string& uri, arrow::MemoryPool* pool) {
  Store& store = stores()[uri];
  if (store != nullptr) return store;
  ARROW_RETURN_NOT_OK(load_client());
  const std::shared_ptr<arrow::fs::S3RetryStrategy> retries = std::make_shared<Retries>(pool);
  auto opened =
      arrow::fs::FileSystemFromUriAndOptions(uri, {{"retry_strategy", retries}}, arrow::io::IOContext(pool));
  // The client must end before the process; it has started now, and functions run in reverse order at exit.
  static const int at_exit = std::atexit([] {
    stores().clear();
    arrow::fs::EnsureFinalized();
  });
  static_cast<void>(at_exit);
  ARROW_ASSIGN_OR_RAISE(store, std::move(opened));
  return store;
}

// A folder is there if objects are below it, but a bucket must exist.
arrow::Status require_bucket(arrow::fs::FileSystem& objects, const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(const auto bucket, objects.GetFileInfo(path.substr(0, path.find('/'))));
  if (bucket.type() != arrow::fs::FileType::NotFound) return arrow::Status::OK();
  return arrow::Status::IOError("NO_SUCH_BUCKET");
}

}  // namespace

arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>> open_source(const std::string& store,
                                                                        const std::string& path,
                                                                        arrow::MemoryPool* pool) {
  if (store.empty()) return arrow::io::ReadableFile::Open(path, pool);
  ARROW_ASSIGN_OR_RAISE(const Store objects, open_store(store, pool));
  return objects->OpenInputFile(path);
}

int64_t read_ahead_of(const std::string& store, arrow::MemoryPool* pool) {
  return store.empty() ? 0 : std::max<int64_t>(free_memory(pool) / 16, 1);
}

arrow::Result<PlimsollObject> find_object(const std::string& store, const std::string& path,
                                          arrow::MemoryPool* pool) {
  PlimsollObject found{.bytes = -1, .version = {}};
  const auto object = open_source(store, path, pool);
  if (arrow::internal::ErrnoFromStatus(object.status()) == ENOENT) return found;
  ARROW_RETURN_NOT_OK(object.status());
  ARROW_ASSIGN_OR_RAISE(found.bytes, (*object)->GetSize());
  ARROW_ASSIGN_OR_RAISE(const auto metadata, (*object)->ReadMetadata());
  const auto version = metadata == nullptr ? arrow::Result<std::string>("") : metadata->Get("ETag");
  if (version.ok()) version->copy(found.version, sizeof(found.version) - 1);
  return found;
}

arrow::Result<std::vector<std::string>> list_objects(const std::string& store, const std::string& folder,
                                                     arrow::MemoryPool* pool) {
  ARROW_ASSIGN_OR_RAISE(const Store objects, open_store(store, pool));
  arrow::fs::FileSelector below;
  below.base_dir = folder;
  below.recursive = true;
  below.allow_not_found = true;
  ARROW_ASSIGN_OR_RAISE(const auto found, objects->GetFileInfo(below));
  if (found.empty()) ARROW_RETURN_NOT_OK(require_bucket(*objects, folder));
  std::vector<std::string> paths;
  for (const arrow::fs::FileInfo& info : found)
    if (info.IsFile()) paths.push_back(info.path());
  return paths;
}
