#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "io/file.h"
#include "memory/vector.h"
#include "store/frames.h"

namespace plimsoll {

/// The texts that captures come in (docs/can-formats.md).
enum class TextFormat : uint8_t {
  csv,      ///< four columns below a header: 1513920459.745822,2C0,1400,0
  candump,  ///< as `candump -L` prints, without labels: (1513920459.745822) vcan0 2C0#1400
};

inline constexpr const char* kDefaultChannel = "vcan0";

/// ".csv" or ".log"
const char* text_ending(TextFormat format);

/// Writes frames to a file as text that `ingest can` reads back to the same frames, in pieces of 256 KiB.
/// Times have six digits behind the point, or nine where they are no whole us. IDs of 11 bits have three hex
/// digits, extended ones eight. Not thread-safe. Errors: Failure (disk), BudgetExceeded, InputError (a frame
/// that the text cannot tell: a time before 1970, a remote frame with a length, and in csv a remote, error or
/// unlabelled frame).
class FrameTextWriter {
 public:
  /// `labels`: in candump a 0 or 1 behind each frame, which `--attack-label 1` reads.
  FrameTextWriter(const std::filesystem::path& path, TextFormat format, std::string channel = kDefaultChannel,
                  FileSystem& files = FileSystem::disk(), bool labels = false);

  void append(const FrameSpans& frames);
  /// Writes the rest and syncs the file. Nothing may be appended after.
  void finish();

 private:
  void flush();

  File file_;
  TextFormat format_;
  std::string channel_;
  bool labels_;
  Vector<char, Tag::output> buffer_;
  size_t filled_ = 0;
};

}  // namespace plimsoll
