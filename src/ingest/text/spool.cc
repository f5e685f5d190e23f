#include "ingest/text/spool.h"

#include "io/file.h"
#include "memory/vector.h"

namespace plimsoll {
namespace fs = std::filesystem;

void Spool::copy(fs::path& input, const std::function<void()>& tick) {
  if (input == "-" && !fs::exists(input)) input = "/dev/stdin";
  if (!fs::exists(input) || fs::is_regular_file(input) || fs::is_directory(input)) return;
  if (!folder_) {
    fs::path name = out_;
    name += ".input";
    folder_.emplace(name, true, files_);
  }
  File from = File::open(input);
  const fs::path copy = folder_->add_folder(std::to_string(copies_++)) / input.filename();
  File to = File::create(copy, files_);
  Vector<char, Tag::ingest> buffer(256 << 10);
  for (size_t got = from.read(buffer.data(), buffer.size()); got > 0;
       got = from.read(buffer.data(), buffer.size())) {
    to.write(buffer.data(), got);
    tick();
  }
  input = copy;
}

std::string Spool::shown(std::string message) const {
  if (!folder_) return message;
  for (int copy = 0; copy < copies_; ++copy) {
    const std::string folder = (folder_->path() / std::to_string(copy) / "").string();
    for (size_t at = message.find(folder); at != std::string::npos; at = message.find(folder))
      message.erase(at, folder.size());
  }
  return message;
}

}  // namespace plimsoll
