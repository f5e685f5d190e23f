#include "io/zip_archive.h"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>

#include "base/error.h"
#include "base/shared_library.h"
#include "base/units.h"
#include "io/file.h"
#include "memory/charge.h"

namespace plimsoll {
namespace {

// The functions of libzip. It is loaded when the first archive is opened (cmake/loaded.cmake gives the
// reason).
class Library {
 private:
  // Declared first, because the functions are looked up in it.
  SharedLibrary library_{PLIMSOLL_LIBZIP,
                         "install that library, or unpack the archive and name the folder instead"};

 public:
  static const Library& get() {
    static const Library library;
    return library;
  }

  decltype(&zip_fopen_index) const fopen_index =
      library_.function<decltype(&zip_fopen_index)>("zip_fopen_index");
  decltype(&zip_fread) const fread = library_.function<decltype(&zip_fread)>("zip_fread");
  decltype(&zip_fclose) const fclose = library_.function<decltype(&zip_fclose)>("zip_fclose");
  decltype(&zip_strerror) const strerror = library_.function<decltype(&zip_strerror)>("zip_strerror");
  decltype(&zip_file_strerror) const file_strerror =
      library_.function<decltype(&zip_file_strerror)>("zip_file_strerror");
  decltype(&zip_error_init) const error_init = library_.function<decltype(&zip_error_init)>("zip_error_init");
  decltype(&zip_error_fini) const error_fini = library_.function<decltype(&zip_error_fini)>("zip_error_fini");
  decltype(&zip_error_strerror) const error_strerror =
      library_.function<decltype(&zip_error_strerror)>("zip_error_strerror");
  decltype(&zip_source_buffer_create) const source_buffer_create =
      library_.function<decltype(&zip_source_buffer_create)>("zip_source_buffer_create");
  decltype(&zip_source_free) const source_free =
      library_.function<decltype(&zip_source_free)>("zip_source_free");
  decltype(&zip_open_from_source) const open_from_source =
      library_.function<decltype(&zip_open_from_source)>("zip_open_from_source");
  decltype(&zip_discard) const discard = library_.function<decltype(&zip_discard)>("zip_discard");
  decltype(&zip_get_num_entries) const get_num_entries =
      library_.function<decltype(&zip_get_num_entries)>("zip_get_num_entries");
  decltype(&zip_get_name) const get_name = library_.function<decltype(&zip_get_name)>("zip_get_name");
  decltype(&zip_stat_init) const stat_init = library_.function<decltype(&zip_stat_init)>("zip_stat_init");
  decltype(&zip_stat_index) const stat_index = library_.function<decltype(&zip_stat_index)>("zip_stat_index");

 private:
  Library() = default;
};

constexpr int64_t kLibraryBytes = 512 * kKiB;  // The library itself and the libraries that it loads.
constexpr int64_t kMemberBytes = 512;  // An entry of the directory with its name and its place in a table.
constexpr int64_t kStreamBytes = 96 * kKiB;   // The window of deflate, 32 KiB, its state and a buffer.
constexpr int64_t kLongestEnd = 22 + 0xFFFF;  // The end record with its comment.
constexpr int64_t kLocator = 20;              // Bytes of the locator before that record in a zip64 archive.

int64_t count(std::string_view text, std::string_view mark) {
  int64_t found = 0;
  for (size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at + mark.size()))
    ++found;
  return found;
}

// Returns an upper bound of the memory that the library needs for the directory of members. The library
// allocates space for as many members as the archive claims to have, or contains entries of, and keeps their
// names and comments.
int64_t max_directory_bytes(std::string_view text, const std::string& path) {
  constexpr std::string_view kEntry = "PK\1\2";
  constexpr std::string_view kEnd = "PK\5\6";
  constexpr std::string_view kEnd64 = "PK\6\7";
  int64_t members = count(text, kEntry);
  int64_t texts = 0;
  const std::string_view tail = text.substr(text.size() - std::min<size_t>(text.size(), kLongestEnd));
  for (size_t at = tail.find(kEnd); at != std::string_view::npos; at = tail.find(kEnd, at + 1)) {
    const size_t whole = text.size() - tail.size() + at;
    if (whole >= kLocator && text.substr(whole - kLocator, kEnd64.size()) == kEnd64)
      throw InputError(path + ": is a zip64 archive; unpack it and name the folder instead");
    if (at + 16 > tail.size()) continue;
    const auto number = [&](size_t offset, int bytes) {
      int64_t value = 0;
      for (int i = bytes; i-- > 0;)
        value = value << 8 | static_cast<unsigned char>(tail[at + offset + static_cast<size_t>(i)]);
      return value;
    };
    members = std::max(members, number(10, 2));
    texts = std::max(texts, std::min(number(12, 4), static_cast<int64_t>(text.size())));
  }
  return members * kMemberBytes + texts;
}

class MemberStream : public InputStream {
 public:
  MemberStream(zip_t* archive, int64_t member, std::string path)
      : memory_(Tag::ingest, kStreamBytes),
        path_(std::move(path)),
        file_(Library::get().fopen_index(archive, static_cast<zip_uint64_t>(member), 0)) {
    if (file_ == nullptr) fail(Library::get().strerror(archive));
  }
  ~MemberStream() override { Library::get().fclose(file_); }
  MemberStream(const MemberStream&) = delete;
  MemberStream& operator=(const MemberStream&) = delete;

  size_t read(char* data, size_t bytes) override {
    size_t filled = 0;
    while (filled < bytes) {
      const zip_int64_t got = Library::get().fread(file_, data + filled, bytes - filled);
      if (got < 0) fail(Library::get().file_strerror(file_));
      if (got == 0) break;
      filled += static_cast<size_t>(got);
    }
    hasher_.add(data, filled);
    bytes_read_ += static_cast<int64_t>(filled);
    return filled;
  }
  int64_t bytes_read() const override { return bytes_read_; }
  std::string source_hash() const override { return hasher_.hex64(); }

 private:
  [[noreturn]] void fail(const char* reason) const {
    throw InputError(fmt::format("{}: damaged zip data ({}); fetch the archive again", path_, reason));
  }

  Charge memory_;  // Upper bound of the library's memory, because the library accepts no allocator.
  std::string path_;
  zip_file_t* file_;
  Hasher hasher_;
  int64_t bytes_read_ = 0;
};

}  // namespace

struct ZipArchive::State {
  MappedFile file;
  Charge memory{Tag::ingest};
  zip_t* archive = nullptr;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (archive != nullptr) Library::get().discard(archive);
  }
};

ZipArchive::ZipArchive(const std::filesystem::path& path) : state_(std::make_unique<State>()) {
  state_->file = MappedFile(path);
  const std::span<const std::byte> bytes = state_->file.bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  state_->memory.add(kLibraryBytes + kStreamBytes + max_directory_bytes(text, path.string()));
  zip_error_t error;
  Library::get().error_init(&error);
  zip_source_t* const source = Library::get().source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  if (source != nullptr) state_->archive = Library::get().open_from_source(source, ZIP_RDONLY, &error);
  if (state_->archive == nullptr) {
    const std::string reason = Library::get().error_strerror(&error);
    Library::get().error_fini(&error);
    Library::get().source_free(source);
    throw InputError(
        fmt::format("{}: cannot be read as a zip archive ({}): it is not one, or it is truncated; fetch it "
                    "again",
                    path.string(), reason));
  }
  Library::get().error_fini(&error);
}

ZipArchive::~ZipArchive() = default;

int64_t ZipArchive::members() const {
  return Library::get().get_num_entries(state_->archive, 0);
}

std::string_view ZipArchive::name(int64_t member) const {
  const char* const name =
      Library::get().get_name(state_->archive, static_cast<zip_uint64_t>(member), ZIP_FL_ENC_RAW);
  return name == nullptr ? std::string_view() : name;
}

std::unique_ptr<InputStream> ZipArchive::open(int64_t member) const {
  const std::string path = fmt::format("{}:{}", state_->file.path(), name(member));
  zip_stat_t stat;
  Library::get().stat_init(&stat);
  if (Library::get().stat_index(state_->archive, static_cast<zip_uint64_t>(member), 0, &stat) != 0)
    throw InputError(path + ": its entry in the zip archive cannot be read; fetch the archive again");
  if (stat.encryption_method != ZIP_EM_NONE)
    throw InputError(path + ": is encrypted; unpack the archive and name the folder instead");
  if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE)
    throw InputError(
        fmt::format("{}: is compressed by method {}, expected deflate (8) or none (0); unpack the "
                    "archive and name the folder instead",
                    path, stat.comp_method));
  return std::make_unique<MemberStream>(state_->archive, member, path);
}

int64_t ZipArchive::bytes() const {
  return static_cast<int64_t>(state_->file.bytes().size());
}

}  // namespace plimsoll
