#include <fmt/format.h>

#include "base/error.h"
#include "can/capture/capture_chunks.h"
#include "can/write/convert.h"
#include "io/file_ending.h"
#include "io/new_folder.h"
#include "io/replaceable.h"

namespace plimsoll {
namespace {

/// Converts one capture into a file.
class Conversion {
 public:
  Conversion(const ConvertOptions& options, const CaptureFile& capture, File& file)
      : options_(options), capture_(capture), file_(file) {}

  ConvertResult run(const std::function<void(int64_t, int64_t)>& progress) {
    const auto bytes = static_cast<int64_t>(std::filesystem::file_size(capture_.path));
    for_each_chunk({capture_}, options_.format, options_.threads, false,
                   [&](const CaptureChunk& chunk, ParsedChunk& parsed) {
                     add(chunk, parsed);
                     progress(chunk.bytes_read, bytes);
                   });
    return finish();
  }

 private:
  void add(const CaptureChunk& chunk, ParsedChunk& parsed) {
    require_sound(capture_, lines_, parsed);
    lines_ += parsed.lines;
    result_.truncation = parsed.truncation;
    add_elapsed(capture_.path.string(), chunk, parsed, elapsed_ns_);
    FrameBatch& frames = parsed.frames;
    if (options_.format.benign) label_benign(capture_, frames);
    for (std::string& name : frames.channels) name = options_.format.name_of_channel(name);
    if (chunk.format && !chunk.format->has_time()) refuse("has no times, but a capture needs them");
    if (frames.frames() == 0) return;
    if (!writer_) {
      const bool is_labelled = options_.format.benign || (chunk.format && chunk.format->labelled());
      result_.labels = options_.to->optional_labels && is_labelled;
      writer_.emplace(*options_.to, file_,
                      WriteOptions{.labels = result_.labels, .leave_out = options_.leave_out});
    }
    result_.frames += static_cast<int64_t>(frames.frames());
    try {
      writer_->append(frames);
    } catch (const InputError& error) {
      refuse(error.what());
    }
  }

  ConvertResult finish() {
    if (!writer_) refuse("holds no frames");
    writer_->finish();
    result_.recordings = 1;
    result_.fd = options_.format.payload > kPayloadBytes;
    result_.losses = writer_->losses();
    if (result_.truncation && options_.format.warn)
      options_.format.warn(truncation_text(capture_.path.string(), *result_.truncation, result_.frames));
    return std::move(result_);
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw InputError(fmt::format("{}: {}", capture_.path.string(), why));
  }

  const ConvertOptions& options_;
  const CaptureFile& capture_;
  File& file_;
  std::optional<CaptureWriter> writer_;
  ConvertResult result_;
  int64_t lines_ = 0;
  int64_t elapsed_ns_ = 0;
};

ConvertResult convert_to(const std::filesystem::path& path, const ConvertOptions& options,
                         const CaptureFile& capture, const std::function<void(int64_t, int64_t)>& progress) {
  ConvertResult result;
  const auto convert_with = [&](const ConvertOptions& tried) {
    replace_file(path, [&](File& file) { result = Conversion(tried, capture, file).run(progress); });
  };
  if (options.format.payload != kChosenPayload) {
    convert_with(options);
    return result;
  }
  ConvertOptions tried = options;
  tried.format.payload = kPayloadBytes;
  try {
    convert_with(tried);
  } catch (const PayloadTooLong&) {
    tried.format.payload = kFdPayloadBytes;
    convert_with(tried);
  }
  return result;
}

}  // namespace

ConvertResult convert_capture(const ConvertOptions& options,
                              const std::function<void(int64_t, int64_t)>& progress) {
  Charge charge(Tag::ingest);
  const CaptureFile capture = find_captures({options.source}, charge).at(0);
  if (is_compressed_name(options.out))
    throw UsageError(options.out.string() + ": convert does not compress; leave the ending off");
  ConvertResult result;
  if (is_capture(options.out)) {
    if (std::filesystem::is_directory(options.out))
      throw Failure(options.out.string() + " is a folder, and a capture becomes a file; name another");
    require_no_source(options.out, {options.source});
    if (!options.force && std::filesystem::exists(options.out))
      throw Failure(options.out.string() + " already exists; give --force to replace it");
    const auto around = make_folders(options.out.parent_path());
    try {
      result = convert_to(options.out, options, capture, progress);
    } catch (...) {
      remove_folders(around, FileSystem::disk());
      throw;
    }
    result.out = options.out;
  } else {
    const std::string name = capture.name + options.to->ending;
    require_free(options.out, options.force, {options.source},
                 [&](const std::filesystem::path& file) { return file == name; });
    NewFolder folder(options.out, options.force);
    result = convert_to(folder.path() / name, options, capture, progress);
    folder.publish();
    result.out = options.out;
  }
  return result;
}

}  // namespace plimsoll
