#include "ingest/tables/object_stream.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "io/arrow_calls.h"

namespace plimsoll {
namespace {

// Throws InputError if one of the objects is not as it was when the table was found.
void require_unchanged(const TableFiles& table) {
  for (size_t file = 0; file < table.files.size(); ++file) {
    const std::optional<ObjectVersion> now = find_object(table.location(file));
    const char* const what = !now ? "vanished" : "changed";
    if (now != table.versions[file])
      throw InputError(fmt::format("{}: {} while it was read; repeat the command when nobody writes there",
                                   table.location(file).text(), what));
  }
}

// Calls a function that reads objects. If it throws because an object is wrong, looks whether it has changed.
template <typename Read>
auto read_unchanged(const TableFiles& table, const Read& read) {
  try {
    return read();
  } catch (const InputError&) {
    require_unchanged(table);
    throw;
  }
}

class ObjectStream {
 public:
  ObjectStream(TableFiles table, ArrowArrayStream stream) : table_(std::move(table)), stream_(stream) {}
  ~ObjectStream() { stream_.release(&stream_); }
  ObjectStream(const ObjectStream&) = delete;
  ObjectStream& operator=(const ObjectStream&) = delete;

  int schema(ArrowSchema* out) {
    return read_unchanged(table_, [&] { return checked(stream_.get_schema(&stream_, out)); });
  }
  int next(ArrowArray* out) {
    const int code = read_unchanged(table_, [&] { return checked(stream_.get_next(&stream_, out)); });
    if (code == 0 && out->release == nullptr) require_unchanged(table_);
    return code;
  }
  const char* error() { return stream_.get_last_error(&stream_); }

 private:
  // Returns a code of the stream, or throws the reason for which the store has made it fail.
  int checked(int code) {
    if (code == 0) return code;
    throw_if_arrow_refused();
    require_unchanged(table_);
    const char* const text = error();
    throw_if_store_failed(table_.root_location().text(), text == nullptr ? "" : text);
    return code;
  }

  TableFiles table_;
  ArrowArrayStream stream_;
};

ObjectStream& objects_of(ArrowArrayStream* stream) {
  return *static_cast<ObjectStream*>(stream->private_data);
}

}  // namespace

ArrowArrayStream stream_objects(const TableFiles& table, const std::function<ArrowArrayStream()>& open) {
  auto owned = std::make_unique<ObjectStream>(table, read_unchanged(table, open));
  ArrowArrayStream stream{};
  stream.get_schema = [](ArrowArrayStream* self, ArrowSchema* out) { return objects_of(self).schema(out); };
  stream.get_next = [](ArrowArrayStream* self, ArrowArray* out) { return objects_of(self).next(out); };
  stream.get_last_error = [](ArrowArrayStream* self) { return objects_of(self).error(); };
  stream.release = [](ArrowArrayStream* self) {
    delete &objects_of(self);
    self->release = nullptr;
  };
  stream.private_data = owned.release();
  return stream;
}

}  // namespace plimsoll
