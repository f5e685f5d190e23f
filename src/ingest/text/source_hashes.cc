#include "ingest/text/source_hashes.h"

#include "io/source_reader.h"
#include "memory/vector.h"

namespace plimsoll {

JsonTable source_hashes(const std::vector<std::filesystem::path>& files, const std::function<void()>& tick) {
  JsonTable sources;
  Vector<char, Tag::ingest> buffer(256 << 10);
  for (const std::filesystem::path& path : files) {
    SourceReader reader(path);
    while (reader.read(buffer.data(), buffer.size()) > 0) tick();
    sources.push_back(
        {{"source", path.filename().string()}, {"bytes", reader.bytes_read()}, {"hash", reader.hash()}});
  }
  return sources;
}

}  // namespace plimsoll
